// The paper clip: mention something of the kernel, or add images of this computer.

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { Icon } from "./icons";
import { TYPES } from "./images";

interface Props {
  disabled: boolean;
  /** Whether the agent takes images. */
  images: boolean;
  /** Begin an @-name in the field. */
  mention: () => void;
  addFiles: (files: readonly File[]) => void;
}

export function AttachButton({ disabled, images, mention, addFiles }: Props) {
  const [open, setOpen] = useState(false);
  const box = useRef<HTMLSpanElement>(null);
  const input = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => {
    if (open) box.current?.querySelector<HTMLElement>(".acp-attach-menu button")?.focus();
  }, [open]);
  const close = () => {
    setOpen(false);
    box.current?.querySelector("button")?.focus();
  };
  return (
    <span
      ref={box}
      class="acp-attach"
      onKeyDown={(event) => {
        if (event.key !== "Escape" || !open) return;
        event.preventDefault();
        event.stopPropagation();
        close();
      }}
      onFocusOut={({ relatedTarget }) => {
        if (!box.current?.contains(relatedTarget as Node | null)) setOpen(false);
      }}
    >
      <button
        type="button"
        class="acp-round acp-ghost"
        data-acp-attach=""
        aria-label="Attach"
        aria-expanded={open}
        title="Attach"
        disabled={disabled}
        // Keeps the focus where it is: a menu that is open would close at the press and open at the click.
        onMouseDown={(event) => event.preventDefault()}
        onClick={() => (open ? close() : setOpen(true))}
      >
        <Icon name="attach" />
      </button>
      {open && (
        <span class="acp-attach-menu" role="group" aria-label="Attach">
          <button
            type="button"
            class="acp-ghost"
            onClick={() => {
              setOpen(false);
              mention();
            }}
          >
            Variable, file or cell <kbd>@</kbd>
          </button>
          {images ? (
            <button type="button" class="acp-ghost" onClick={() => input.current?.click()}>
              Image from this computer…
            </button>
          ) : (
            <span class="acp-quiet">This agent does not accept images.</span>
          )}
        </span>
      )}
      <input
        ref={input}
        type="file"
        hidden
        multiple
        accept={[...TYPES].join()}
        aria-label="Images from this computer"
        onChange={({ currentTarget }) => {
          addFiles([...(currentTarget.files ?? [])]);
          currentTarget.value = ""; // so that the same file can be chosen again
          close();
        }}
      />
    </span>
  );
}
