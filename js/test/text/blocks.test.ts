// @vitest-environment node

import { describe, expect, test, vi } from "vitest";
import { Blocks, GROUP, LONG, LOOK_MS, Stream } from "../../src/text/blocks";
import { parse } from "../../src/text/parser";
import type { Block, References } from "../../src/text/parser";
import { prose } from "../../src/text/visible";
import { CORPUS, chunks, random } from "./corpus";

/** Much more than any takes: machines are busy. */
vi.setConfig({ testTimeout: 60_000 });

function none(): References {
  return Object.create(null) as References;
}

/** By the parser alone, without any of the streaming. */
function whole(text: string): Block[] {
  return parse(prose(text.replace(/\r\n?/g, "\n")), none());
}

function streamed(parts: readonly string[], each?: (stream: Stream) => void): Block[] {
  const stream = new Stream();
  parts.forEach((part, at) => {
    stream.append(part, at);
    each?.(stream);
  });
  stream.settle();
  return stream.groups.flat();
}

describe("whatever the chunks are, the blocks are those of the whole text", () => {
  test.each(Object.entries(CORPUS))("%s", (_, text) => {
    const expected = whole(text);
    for (let seed = 0; seed < 10; seed++) {
      expect(streamed(chunks(text, random(seed)))).toEqual(expected);
    }
    expect(streamed([text])).toEqual(expected);
    expect(streamed([...text])).toEqual(expected);
  });

  test("mixed together", () => {
    const texts = Object.values(CORPUS);
    for (let seed = 0; seed < 40; seed++) {
      const next = random(seed);
      const parts = Array.from({ length: 4 }, () => texts[Math.floor(next() * texts.length)]);
      const text = parts.join(["", "\n", "\n\n"][seed % 3]);
      expect(streamed(chunks(text, next)), JSON.stringify(text)).toEqual(whole(text));
    }
  });

  test("cut out of the middle, so that everything is broken", () => {
    const all = Object.values(CORPUS).join("\n");
    for (let seed = 0; seed < 40; seed++) {
      const next = random(1000 + seed);
      const lines = all.split("\n").sort(() => next() - 0.5);
      const text = lines.slice(0, 30).join("\n");
      expect(streamed(chunks(text, next)), JSON.stringify(text)).toEqual(whole(text));
    }
  });

  test("with a pause after any chunk", () => {
    for (let seed = 0; seed < 60; seed++) {
      const next = random(seed);
      const text = Object.values(CORPUS).at(seed % Object.keys(CORPUS).length) ?? "";
      const blocks = streamed(chunks(text, next), (stream) => next() < 0.3 && stream.settle());
      expect(blocks, text).toEqual(whole(text));
    }
  });

  test("and when it is long", () => {
    const line = "words and *more* words of a long paragraph [x] ";
    const texts = [
      line.repeat(400),
      `${"- an item\n  of a list\n".repeat(800)}\nend\n\n[x]: https://x.example`,
      "```py\n" + "x = '\u202e'\n".repeat(3000) + "```\nafter",
      `intro\n\n${line.repeat(300)}\n\n${line.repeat(300)}\n\n[x]: https://x.example\n`,
      `| a |\n| - |\n${"| b |\n".repeat(2000)}`,
    ];
    for (const [seed, text] of texts.entries())
      expect(streamed(chunks(text, random(seed), 600))).toEqual(whole(text));
  });
});

test("finished blocks and groups keep their identity while others are added", () => {
  const stream = new Stream();
  const seen: Block[] = [];
  for (let at = 0; at < 3 * GROUP; at++) {
    const before = stream.groups;
    stream.append(`para ${at}\n\n`, at);
    const now = stream.groups.flat();
    seen.forEach((block, index) => expect(now[index]).toBe(block));
    seen.splice(0, seen.length, ...now.slice(0, -1));
    before.slice(0, -2).forEach((group, index) => expect(stream.groups[index]).toBe(group));
  }
  expect(stream.groups.length).toBe(3);
});

test("a finished block is the object that was shown unfinished", () => {
  const stream = new Stream();
  stream.append("one\n", 0);
  const [shown] = stream.groups.flat();
  stream.append("\ntwo\n", 1);
  expect(stream.groups.flat()[0]).toBe(shown);
});

test("a long unfinished block is plain, and parsed twice a second", () => {
  const stream = new Stream();
  stream.append("word ".repeat(LONG / 5 + 1), 0);
  expect(stream.groups.flat().map(({ kind }) => kind)).toEqual(["plain"]);
  stream.append("\n\nnext *one*\n\nand", LOOK_MS - 1);
  expect(stream.groups.flat().map(({ kind }) => kind)).toEqual(["plain"]);
  stream.append(" so", LOOK_MS);
  expect(stream.groups.flat().map(({ kind }) => kind)).toEqual(["html", "html", "html"]);
});

test("an open fence is code from its first line, however long, and closes at once", () => {
  const stream = new Stream();
  stream.append("Look:\n```python\n", 0);
  stream.append("x = 1\n".repeat(5000) + "``", 1);
  const [, open] = stream.groups.flat();
  if (open?.kind !== "code") throw new Error("no code");
  expect([open.language, open.closed]).toEqual(["python", false]);
  expect(open.pieces.join("")).toBe("x = 1\n".repeat(5000));
  stream.append("`\n", 2);
  const [, closed] = stream.groups.flat();
  if (closed?.kind !== "code") throw new Error("no code");
  expect(closed.closed).toBe(true);
  expect(closed.pieces.slice(0, -1)).toEqual(open.pieces.slice(0, -1));
});

test("links defined after their use are resolved when the text is complete", () => {
  const stream = new Stream();
  stream.append("see [a]\n\nother\n\n[a]: https://a.example\n\nmore", 0);
  const [before, other] = stream.groups.flat();
  stream.settle();
  const [after, same] = stream.groups.flat();
  expect(before).not.toBe(after);
  expect(after?.kind === "html" && after.html).toContain('href="https://a.example"');
  expect(same).toBe(other);
});

test("a different text starts over", () => {
  const blocks = new Blocks();
  blocks.update("one\n\ntwo", 0);
  blocks.update("one\n\nother", 1);
  blocks.settle();
  expect(blocks.groups.flat()).toEqual(whole("one\n\nother"));
  expect(blocks.settled).toBe(true);
});

test("text too deep or too long to render is shown as it is", () => {
  const text = CORPUS["deep"] ?? "";
  const deep = whole(text).flatMap((block) => (block.kind === "plain" ? block.pieces : []));
  expect(deep.join("")).toBe(text.replace("\n\n-", "\n-"));
  const long = whole("word ".repeat(30_000));
  expect(long.map(({ kind }) => kind)).toEqual(["plain"]);
});
