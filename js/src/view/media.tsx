// Images and sounds that came as data. Only types that browsers show and that cannot carry script; anything else
// is only named. The same rules as core/export/contents.py.

import { useState } from "preact/hooks";
import { memo } from "./memo";
import { line, size } from "./display_text";

const IMAGES: ReadonlySet<string> = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);
const SOUNDS: ReadonlySet<string> = new Set([
  "audio/wav",
  "audio/x-wav",
  "audio/mpeg",
  "audio/mp3",
  "audio/ogg",
  "audio/webm",
]);
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

interface Props {
  data: string;
  type: string;
}

/** Memoised: to check and to decode some megabytes again in every frame would stop the page. */
export const Image = memo(function Image({ data, type }: Props) {
  const source = address(data, type, IMAGES);
  if (source === null) return <Unplayed what="image" type={type} data={data} />;
  return <Thumbnail source={source} />;
});

/** A small form of the image; a click, or Enter, enlarges it where it is. */
function Thumbnail({ source }: { source: string }) {
  const [large, setLarge] = useState(false);
  return (
    <button
      type="button"
      class="acp-thumbnail"
      aria-pressed={large}
      title={large ? "Make it small again" : "Enlarge"}
      onClick={() => setLarge(!large)}
    >
      <img class="acp-image" src={source} alt="Image" decoding="async" />
    </button>
  );
}

export const Sound = memo(function Sound({ data, type }: Props) {
  const source = address(data, type, SOUNDS);
  if (source === null) return <Unplayed what="audio" type={type} data={data} />;
  return (
    <div class="acp-sound">
      {/* Nothing is fetched or played until the user asks for it. */}
      <audio controls preload="metadata" src={source} aria-label="Sound from the agent" />
    </div>
  );
});

function Unplayed({ what, type, data }: Props & { what: string }) {
  return (
    <div class="acp-named">
      <span class="acp-quiet">{what}</span> {dataNote(type, data)}
    </div>
  );
}

/** What kind of data, and how much: "image/svg+xml, 12 kB". */
export function dataNote(type: string | undefined, data: string): string {
  const padding = /=*\s*$/.exec(data.slice(-4))?.[0].trim().length ?? 0;
  const count = Math.max(0, Math.floor((data.length * 3) / 4) - padding);
  return [type ? line(type) : "", size(count)].filter((part) => part !== "").join(", ");
}

/** The data as an address; null if the type is not allowed, or the data is not base64. */
function address(data: string, type: string, allowed: ReadonlySet<string>): string | null {
  const kind = type.trim().toLowerCase();
  const clean = /\s/.test(data) ? data.replace(/\s+/g, "") : data;
  if (!allowed.has(kind) || clean.length % 4 !== 0 || !BASE64.test(clean)) return null;
  return `data:${kind};base64,${clean}`;
}
