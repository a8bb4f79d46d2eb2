// In place of a question that is shown in another place of the page: it keeps its room, but cannot be answered.

export function Elsewhere({ choose }: { choose: () => void }) {
  return (
    <div class="acp-elsewhere">
      <span>This question is open elsewhere in this page.</span>
      <button type="button" data-acp-answer-here="" onClick={choose}>
        Answer here
      </button>
    </div>
  );
}
