// The build uses this instead of the package `punycode.js`: a browser encodes host names itself. An encoded name is
// shown as it is, so that letters of another script cannot pass for others.

export function toASCII(host: string): string {
  try {
    return new URL(`http://${host}/`).host || host;
  } catch {
    return host;
  }
}

export function toUnicode(host: string): string {
  return host;
}

export default { toASCII, toUnicode };
