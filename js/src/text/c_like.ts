// Small grammars for languages that look like C, or nearly. The highlighter's own ones tell more apart, and would be a tenth
// of the bundle.

import type { HLJSApi, Language, Mode } from "highlight.js";
import { words } from "./words";

interface Words {
  readonly keywords: string;
  readonly types: string;
  readonly literals: string;
  readonly aliases: readonly string[];
}

const FLOW = "break case const continue default else for if return struct switch while";

const CPP: Words = {
  keywords: `${FLOW} alignas alignof auto catch class co_await co_return co_yield concept consteval constexpr
    constinit decltype delete do enum explicit export extern final friend goto inline mutable namespace new
    noexcept operator override private protected public register requires sizeof static static_assert
    template this throw try typedef typename union using virtual volatile`,
  types:
    "bool char double float int long short signed size_t std string uint8_t unsigned void wchar_t",
  literals: "NULL false nullptr true",
  aliases: ["c", "h", "cc", "c++", "h++", "hpp", "hh", "hxx", "cxx"],
};
const GO: Words = {
  keywords: `${FLOW} chan defer fallthrough func go goto import interface map package range select type var`,
  types: `any bool byte complex64 complex128 error float32 float64 int int8 int16 int32 int64 rune string
    uint uint8 uint16 uint32 uint64 uintptr append cap close copy delete len make new panic print recover`,
  literals: "false iota nil true",
  aliases: ["golang"],
};
const JULIA: Words = {
  keywords: `${FLOW} abstract baremodule begin catch do elseif end export finally function global import in isa
    let local macro module mutable primitive quote try type using where`,
  types: `AbstractArray AbstractFloat AbstractString Any Array Bool Char Complex Dict Float32 Float64 Function Int
    Int64 Integer Matrix NamedTuple Number Rational Real Set String Symbol Tuple Type Union Vector`,
  literals: "Inf NaN false im missing nothing pi true",
  aliases: ["jl"],
};
const RUST: Words = {
  keywords: `${FLOW} as async await crate dyn enum extern fn impl in let loop match mod move mut pub ref self
    Self static super trait type union unsafe use where`,
  types: `bool char f32 f64 i8 i16 i32 i64 i128 isize str u8 u16 u32 u64 u128 usize Box Option Result
    String Vec`,
  literals: "Err None Ok Some false true",
  aliases: ["rs"],
};
const TYPESCRIPT: Words = {
  keywords: `${FLOW} abstract as async await catch class debugger declare delete do enum export extends finally
    from function get implements import in infer instanceof interface is keyof let namespace new of
    private protected public readonly satisfies set static super this throw try type typeof var with yield`,
  types: `any bigint boolean never number object string symbol unknown void Array Date Error JSON Map Math
    Object Promise Record Set console document window`,
  literals: "Infinity NaN false null true undefined",
  aliases: ["ts", "tsx", "mts", "cts", "javascript", "js", "jsx", "mjs", "cjs"],
};

const DOCSTRING: Mode = { scope: "string", begin: /"""/, end: /"""/ };
const ESCAPE: Mode = { begin: /\\[\s\S]/ };
const NAMED = /\b(?:class|enum|fn|func|function|interface|namespace|struct|trait|type)\b/;

/** `text`: whether '…' is a text, and not a single character; `hash`: whether # begins a comment. */
function grammar({ keywords, types, literals, aliases }: Words, text = false, hash = false) {
  return (hljs: HLJSApi): Language => ({
    aliases: [...aliases],
    keywords: {
      $pattern: /[A-Za-z_$][\w$]*/,
      keyword: words(keywords),
      built_in: words(types),
      literal: words(literals),
    },
    contains: [
      ...(hash ? [hljs.HASH_COMMENT_MODE, DOCSTRING] : [hljs.C_LINE_COMMENT_MODE]),
      hljs.C_BLOCK_COMMENT_MODE,
      { scope: "string", begin: /"/, end: /"|$/, contains: [ESCAPE] },
      { scope: "string", begin: /`/, end: /`/, contains: [ESCAPE] },
      text
        ? { scope: "string", begin: /'/, end: /'|$/, contains: [ESCAPE] }
        : { scope: "string", match: /'(?:\\[^']+|[^\\'])'/ },
      { scope: "meta", match: /^[ \t]*#[ \t]*\w+|#!?\[[^\]\n]*\]|@[A-Za-z_]\w*/ },
      {
        scope: "number",
        match: /\b(?:0[xXbBoO][\da-fA-F_]+|\d[\d_]*(?:\.\d+)?(?:[eE][+-]?\d+)?)\w*/,
      },
      { match: [NAMED, /\s+/, /[A-Za-z_$][\w$]*/], scope: { 1: "keyword", 3: "title" } },
      {
        scope: "title",
        match: /\b(?!(?:if|for|while|switch|return|catch|match|sizeof)\b)[A-Za-z_$][\w$]*(?=\()/,
      },
    ],
  });
}

export const cpp = grammar(CPP);
export const go = grammar(GO);
export const julia = grammar(JULIA, false, true);
export const rust = grammar(RUST);
export const typescript = grammar(TYPESCRIPT, true);
