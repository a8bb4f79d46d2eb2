// Markdown of all kinds, and a random that is the same in every run.

export const CORPUS: Record<string, string> = {
  prose: "# Title\n\nA *short* **text** with `code`.\nGoes on.\n\nNext  \nbreak.\n\n***\n\nEnd",
  setext: "Head\n====\n\nSub\nline\n---\n\npara\n***b\n\npara\n- item\n\npara\n-\n\nx\n--- a\n",
  "nested lists":
    "- a\n  - b\n    - c\n\n      deep\n  - d\n- e\n\n1. one\n2. two\n   * x\n\n   * y\n3) other\n",
  "loose lists": "- a\n\n- b\n\n  more\n\n\n- c\n\nout\n\n* d\n* e\n\n+ f\n",
  "list then code": "- a\n\n      code\n\n    not\n\n    code\n\ntext\n",
  "fences in lists":
    "1. First:\n   ```python\n   x = 1\n\n   y\n   ```\n2. Second\n   ~~~\n   open\n\nafter\n",
  fences:
    "Here:\n```python title\nprint(1)\n\n# $$ [x]\n```\nafter\n\n~~~~\n~~~\n```\n~~~~\n  ```js\n   a\n  b\n ```\n````\n```\n````  \n    ```\n",
  "open fence": "text\n\n```r\nx <- 1\n``\n` `` \n   more\n",
  "fence with a backtick": "``` a`b\nx\n```\n\n~~~ a`b\ny\n~~~\n",
  "html blocks":
    "<div>\n*x*\n\n</div>\n\n<!-- c\n\nd -->\n\n<script>\nalert(1)\n</script>\nafter\n\n<b>i</b> <br>\n",
  references:
    "[a] and [b][c] and ![d]\n\n[a]: https://a.example 'A'\n[c]: <https://c.example>\n\nlate [e]\n\n- [e]: https://e.example\n\n[d]:\n  https://d.example/x.png\n  'long\n  title'\n",
  "a title that goes on":
    "[foo]: https://x.example\n'title\nmore'\n\n[foo]\n\n[bar]: https://y.example\n'no title\n\n[bar]\n",
  "defined twice":
    "[x]\n\n[x]: https://one.example\n[x]: https://two.example\n\n> [y]: https://three.example\n\n[x] [y]\n",
  tables:
    "a | b\n--|:-:\n1 | 2\n3 | `|`\n\nx\na | b\n--|--:\n1 | 2\ntext\n\n| a |\n| - |\n# h\n| no | table\n",
  quotes: "> a\nlazy\n> b\n\n> c\n>\n> - d\n>   e\nlazy too\n\n> ```\n> x\nout\n",
  "indented code": "    a\n\n    b\n\ttab\n\np\n    no code\n",
  math: "Costs $5 and $6.\n\n$$\na\n= b\n$$\n\n$$\nx\n# head\n- y\n$$\n\n$$\nopen\n\nclosed\n$$\n\ntext\n\\[\nz\n\\]\nand \\(i_1\\) $x^2$ and $$d$$ here\n\n$$ one $$\n> $$\n> q\n> $$\n",
  "math and fences": "$$\n```\nx\n```\n$$\n\n[\n```\ny\n```\nz\n\n$$\n```\nopen\n",
  autolinks:
    "https://a.example/x_y_z and <https://b.example> and <mailto:a@b.example> www.x.example README.md a@b.example\n",
  tasks: "- [ ] open\n- [x] done\n- [X]\n- [y] no\n\n1. [ ] **b**\n",
  strike: "~~gone~~ ~one~ ~~~not~~~\n",
  entities: "&amp; &copy; &#x41; &nosuch; &lt;b&gt; `&amp;`\n",
  returns: "a\r\nb\r\n\r\n- c\r- d\r\r```\r\nx\r\n```\r\n",
  controls: "a\u0000b \u001b[31mred\u001b[0m\u0007 \u202eright \u200b\n\n```\n\u202e\u0000\n```\n",
  tabs: "-\ta\n\n\tb\n\n\t\tcode\n>\tc\n\n 1.\td\n",
  blank: "\n\n  \n\t\n# h\n\n\n",
  deep: ">".repeat(60) + " x\n\n" + "- ".repeat(60) + "y\n\nend\n",
  "nothing closed": "**bold *both `code [link](\n\n![image](data:\n\n<a href=\n",
  "headings that skip levels":
    "### a\n\nb [c]\n\n###### [c]\n\n> # d\n\n#### e\n\n[c]: https://c.example\n\n## f\n",
  "headings without blank lines": "# a\ntext\n## b\n- x\n# c\n[d]\n# e\n\nf\n",
};

/** Numbers from 0 to 1 (mulberry32). */
export function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let value = Math.imul(state ^ (state >>> 15), 1 | state);
    value = (value + Math.imul(value ^ (value >>> 7), 61 | value)) ^ value;
    return ((value ^ (value >>> 14)) >>> 0) / 4294967296;
  };
}

/** The text cut at random places; small cuts as well as large ones. */
export function chunks(text: string, next: () => number, size?: number): string[] {
  const most = size ?? [1, 3, 10, 80][Math.floor(next() * 4)] ?? 1;
  const found: string[] = [];
  for (let at = 0; at < text.length;) {
    const end = at + 1 + Math.floor(next() * most);
    found.push(text.slice(at, end));
    at = end;
  }
  return found;
}
