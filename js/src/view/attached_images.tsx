// The images that go with the prompt, each with a button that removes it.

import type { Picture } from "../types";
import { Icon } from "./icons";

interface Props {
  images: readonly Picture[];
  remove: (at: number) => void;
}

export function AttachedImages({ images, remove }: Props) {
  return (
    <ul class="acp-thumbs" aria-label="Images to send">
      {images.map(({ data, mime_type: type }, at) => (
        <li key={at}>
          <img src={`data:${type};base64,${data}`} alt={`Image ${at + 1}`} />
          <button type="button" aria-label={`Remove image ${at + 1}`} onClick={() => remove(at)}>
            <Icon name="close" />
          </button>
        </li>
      ))}
    </ul>
  );
}
