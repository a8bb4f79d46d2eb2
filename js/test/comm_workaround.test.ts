import type { AnyModel } from "@anywidget/types";
import { expect, test } from "vitest";
import { receiveDirectly } from "../src/comm_workaround";

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

test("a model that anywidget has given up receives messages again", async () => {
  const real = new Deaf();
  real.receive("lost");
  await receiveDirectly(faceOf(real));
  real.receive("heard");
  expect(real.heard).toEqual(["heard"]);
});

test("other models are left alone", async () => {
  const real = new Base();
  const before = real.receive;
  await receiveDirectly(faceOf(real));
  expect(real.receive).toBe(before);
  await receiveDirectly(faceOf({}));
  await receiveDirectly(faceOf(Object.create(null)));
});
