import type { AnyModel } from "@anywidget/types";
import { expect, test } from "vitest";
import { hearAll } from "../src/comm_workaround";

class Base {
  heard: unknown[] = [];
  receive: (message: unknown) => unknown = (message) => this._handle_comm_msg(message);
  comm = { on_msg: (receive: (message: unknown) => unknown) => void (this.receive = receive) };
  _handle_comm_msg(message: unknown): unknown {
    return void this.heard.push(message);
  }
}

/** As anywidget's model is, once it has given up. */
class Deaf extends Base {
  override _handle_comm_msg(): unknown {
    return undefined;
  }
}

const faceOf = (real: unknown) =>
  ({
    widget_manager: { get_model: () => Promise.resolve(real) },
    get: () => "id",
  }) as unknown as AnyModel;

test("a model that anywidget has given up hears again", async () => {
  const real = new Deaf();
  real.receive("lost");
  await hearAll(faceOf(real));
  real.receive("heard");
  expect(real.heard).toEqual(["heard"]);
});

test("models of another make are left alone", async () => {
  const real = new Base();
  const before = real.receive;
  await hearAll(faceOf(real));
  expect(real.receive).toBe(before);
  await hearAll(faceOf({}));
  await hearAll(faceOf(Object.create(null)));
});
