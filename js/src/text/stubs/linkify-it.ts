// The build uses this instead of the package `linkify-it`, which the parser instantiates but we do not use: see
// `autolinks`.

export class LinkifyIt {}
