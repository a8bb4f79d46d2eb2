// Items of an unknown type are shown as they came.

import type { Json } from "../types";
import { json, line } from "./display_text";

export function UnknownView({ what, value }: { what: string; value: Json }) {
  return (
    <div class="acp-unknown">
      <span class="acp-quiet">{line(what)}</span>
      <pre class="acp-code">{json(value)}</pre>
    </div>
  );
}
