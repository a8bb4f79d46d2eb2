// What we do not know is shown as it came.

import type { Json } from "../types";
import { json, line } from "./words";

export function UnknownView({ what, value }: { what: string; value: Json }) {
  return (
    <div class="acp-unknown">
      <span class="acp-quiet">{line(what)}</span>
      <pre class="acp-code">{json(value)}</pre>
    </div>
  );
}
