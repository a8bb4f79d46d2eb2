// Says that an intent is on its way to the kernel, or that the kernel is busy.

export function Delivery({ slow, what }: { slow: boolean; what: string }) {
  return (
    <div class="acp-quiet" role="status">
      {slow ? `Kernel busy: your ${what} will be delivered when the cell ends.` : "Sending…"}
    </div>
  );
}
