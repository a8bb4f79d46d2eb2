// The outputs of a run as a notebook's file has them, from what its card shows. Pure.

import type { Json, RunContent } from "../types";

export type RunOutput = RunContent["outputs"][number];

export function savedOutputs(outputs: readonly RunOutput[]): Json[] {
  return outputs.map(saved);
}

function saved(output: RunOutput): Json {
  switch (output.type) {
    case "stream":
      return { output_type: "stream", name: output.name, text: output.text };
    case "error":
      return {
        output_type: "error",
        ename: output.name,
        evalue: output.message,
        traceback: output.traceback.split("\n"),
      };
    case "display": {
      const { text, image, table } = output;
      const data = {
        ...(image ? { [image.mime_type]: image.data } : {}),
        ...(table ? { "text/html": html(table) } : {}),
        "text/plain": text,
      };
      return { output_type: "display_data", data, metadata: {} };
    }
    default:
      return output satisfies never;
  }
}

/** Of texts, as pandas writes a frame. */
function html([head = [], ...rows]: readonly (readonly string[])[]): string {
  const row = (texts: readonly string[], tag: string) =>
    `<tr>${texts.map((text) => `<${tag}>${escaped(text)}</${tag}>`).join("")}</tr>`;
  const body = rows.map((texts) => row(texts, "td")).join("");
  const table = `<thead>${row(head, "th")}</thead><tbody>${body}</tbody>`;
  return `<table border="1" class="dataframe">${table}</table>`;
}

function escaped(text: string): string {
  return text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
}
