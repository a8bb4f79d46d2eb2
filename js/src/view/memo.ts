// A view that renders again only when one of its properties is a different object.

import { Component, h } from "preact";
import type { ComponentType, FunctionComponent } from "preact";

export function memo<P extends object>(view: FunctionComponent<P>): ComponentType<P> {
  return class Memo extends Component<P> {
    override shouldComponentUpdate(next: Readonly<P>): boolean {
      const now = this.props as Record<string, unknown>;
      const then = next as Record<string, unknown>;
      const names = new Set([...Object.keys(now), ...Object.keys(then)]);
      return [...names].some((name) => now[name] !== then[name]);
    }

    override render() {
      return h(view as FunctionComponent<object>, this.props);
    }
  };
}
