// A small grammar for SQL. The highlighter's own one knows the reserved words of the whole standard.

import type { HLJSApi, Language } from "highlight.js";
import { words } from "./words";

const KEYWORDS = `add all alter and any array as asc begin between by case check column commit constraint create
  cross current database default delete desc describe distinct drop else end escape except exists explain
  fetch filter first following for foreign from full function grant group having if ilike in index inner
  insert intersect interval into is join key last lateral left like limit materialized merge natural not
  nulls of offset on only or order outer over partition pivot preceding primary procedure qualify range
  recursive references rename replace returning revoke right rollback row rows schema select set show some
  table temporary then to transaction trigger truncate unbounded union unique unnest unpivot update using
  values view when where window with within`;
const TYPES = `bigint binary blob bool boolean bytea char character date datetime decimal double float int
  integer json jsonb numeric real serial smallint text time timestamp timestamptz tinyint uuid varchar`;
const FUNCTIONS = `abs avg cast ceil coalesce concat count current_date current_timestamp date_part
  date_trunc dense_rank extract first_value floor greatest lag last_value lead least length lower max min
  mod nullif now ntile percent_rank rank round row_number sqrt string_agg substring sum trim upper`;

export function sql(hljs: HLJSApi): Language {
  return {
    case_insensitive: true,
    keywords: {
      keyword: words(KEYWORDS),
      type: words(TYPES),
      built_in: words(FUNCTIONS),
      literal: "true false null unknown",
    },
    contains: [
      hljs.COMMENT("--", "$"),
      hljs.C_BLOCK_COMMENT_MODE,
      { scope: "string", begin: /'/, end: /'/, contains: [{ begin: /''/ }] },
      { begin: /"/, end: /"/, contains: [{ begin: /""/ }] },
      { begin: /`/, end: /`/ },
      hljs.C_NUMBER_MODE,
      { scope: "variable", match: /[@:$]\w+|\{\{[^}]*\}\}/ },
    ],
  };
}
