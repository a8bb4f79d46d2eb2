// The build uses this instead of the package `uc.micro`: browsers know these character classes.

export const P = /\p{P}/u;
export const S = /\p{S}/u;
export const Z = /\p{Z}/u;
export const Cc = /\p{Cc}/u;
export const Any = /[^]/u;
