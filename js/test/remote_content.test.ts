// @vitest-environment node

import { expect, test } from "vitest";
import { fetchesRemote } from "../src/remote_content";

test.each([
  "![x](https://evil.example/x.png)",
  "text ![x](HTTP://evil.example) text",
  "![x](//evil.example/x)",
  "![x](<https://evil.example>)",
  '![x]( https://evil.example "title")',
  "![x](\nhttps://evil.example)",
  "![x](https:\\/\\/evil.example)",
  "![x](&#104;ttps:&#47;&#47;evil.example)",
  "![x](\\\\evil.example\\x)",
  "![a ![b](https://evil.example) c](a.png)",
  "![x][ref]\n\n[ref]: https://evil.example",
  "![ref]\n\n[ref]: //evil.example",
  "[![x](https://evil.example)](a.html)",
  "![x](data:image/svg+xml;base64,AAAA)",
  '<img src="https://evil.example">',
  "<IMG\nSRC=//evil.example>",
  '<img src="a.png" srcset="//evil.example 2x">',
  "<iframe src='https://evil.example'></iframe>",
  "<video poster=https://evil.example></video>",
  "<link rel=stylesheet href=https://evil.example>",
  "<style>@import 'https://evil.example'</style>",
  '<div style="background:url(https://evil.example)">x</div>',
  '<p style="background:u\\72l(https:evil)">x</p>',
  '<svg><image href="https://evil.example"/></svg>',
  '<table background="//evil.example">',
  "<object data=https://evil.example></object>",
  "```mermaid\nflowchart TD\nA@{ img: 'https://evil.example' }\n```",
])("%j is fetched", (text) => {
  expect(fetchesRemote(text)).toBe(true);
});

test.each([
  "",
  "# Title",
  "[a link](https://example.org) and https://example.org, <https://example.org>",
  '<a href="https://example.org">x</a>',
  "![x](plot.png) and ![y](./a/b-1.png)",
  '![x](plot.png "A title")',
  "![x](attachment:image.png)",
  "![x](data:image/png;base64,iVBORw0KGgo=)",
  '<img src="plot.png" width="300">',
  "Wow![1] and a!",
  "$a < b$ and `vector<T>`, a // comment",
  "```python\nx = 'https://example.org'\n```",
])("%j is not", (text) => {
  expect(fetchesRemote(text)).toBe(false);
});
