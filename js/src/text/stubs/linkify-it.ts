// The build puts this in the place of the package `linkify-it`, which the parser makes one of and which
// we do not use: see `autolinks`.

export class LinkifyIt {}
