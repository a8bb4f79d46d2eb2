// @vitest-environment jsdom
// The kernel's static HTML in the page: nothing gets through but what the kernel writes itself.

import { expect, it } from "vitest";
import { staticNodes } from "../../src/text/static_html";

it.each([
  ['<img src=x onerror="window.pwned=1">', "img"],
  ["<script>window.pwned=1</script>", "script"],
  ['<a href="javascript:alert(1)">x</a>', "a[href]"],
  ['<img src="https://evil.example/x.png">', "img"],
  ["<iframe src=https://evil.example></iframe>", "iframe"],
  ["<form action=https://evil.example><input></form>", "form, input"],
  ["<style>*{display:none}</style>", "style"],
  ['<p style="position:fixed;inset:0">x</p>', "[style]"],
  ['<p style="background:url(https://evil.example)">x</p>', "[style]"],
  ['<p class="acp-stop" id="x" data-acp-stop>x</p>', "[class], [id], [data-acp-stop]"],
  ["<svg><animate onbegin=alert(1)></svg>", "svg"],
])("is not in what the kernel rendered: %s", (html, query) => {
  const place = document.createElement("div");
  place.append(staticNodes(html));
  expect(place.querySelector(query)).toBeNull();
});

it("keeps what the kernel writes", () => {
  const html =
    '<details open="" style="margin:.5em 0;padding:.2em .8em;border:1px solid rgba(127,127,127,.35);border-radius:4px"><summary><span style="color:#2da44e">✓</span> x</summary><pre style="margin:.4em 0;padding:.5em .8em;overflow-x:auto;background:rgba(127,127,127,.1);font-family:monospace"><span style="display:block;background:rgba(46,160,67,.18)">+a</span></pre></details>';
  const place = document.createElement("div");
  place.append(staticNodes(html));
  expect(place.querySelectorAll("[style]").length).toBe(4);
  expect(place.querySelector("details")?.open).toBe(true);
});
