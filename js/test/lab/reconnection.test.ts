// A kernel behind a server that was away.

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Kernel } from "../../lab/src/host";
import { reconnect } from "../../lab/src/reconnection";

type Made = { -readonly [name in keyof Kernel]: Kernel[name] };

const fetched = vi.fn<typeof fetch>();

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("fetch", fetched);
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
  fetched.mockReset();
});

function lost(): Made {
  const kernel = { id: "k 1", isDisposed: false, connectionStatus: "connecting" } as Made;
  kernel.serverSettings = { baseUrl: "http://hub/user/", token: "secret" };
  kernel.reconnect = vi.fn(() => Promise.resolve());
  return kernel;
}

test("the host connects as soon as the server answers, and no earlier", async () => {
  const kernel = lost();
  fetched.mockRejectedValueOnce(new TypeError("refused"));
  fetched.mockResolvedValueOnce(new Response(null, { status: 503 }));
  fetched.mockResolvedValueOnce(new Response(null, { status: 200 }));
  const done = reconnect(kernel);
  await vi.advanceTimersByTimeAsync(2500);
  expect(kernel.reconnect).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(1000);
  expect(kernel.reconnect).toHaveBeenCalledOnce();
  await done;
  const [address, options] = fetched.mock.calls[0]!;
  expect(address).toBe("http://hub/user/api/kernels/k%201");
  expect(options?.headers).toEqual({ Authorization: "token secret" });
});

test("a kernel that the host has connected meanwhile, or has given up, is left alone", async () => {
  for (const change of [
    { connectionStatus: "connected" } as const,
    { connectionStatus: "disconnected" } as const,
    { isDisposed: true },
  ]) {
    const kernel = lost();
    const done = reconnect(kernel);
    Object.assign(kernel, change);
    await vi.advanceTimersByTimeAsync(1000);
    await done;
    expect(kernel.reconnect).not.toHaveBeenCalled();
  }
  expect(fetched).not.toHaveBeenCalled();
});

test("a server that stays away is asked less and less often", async () => {
  const kernel = lost();
  fetched.mockRejectedValue(new TypeError("refused"));
  void reconnect(kernel);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(fetched).toHaveBeenCalledTimes(60);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(fetched).toHaveBeenCalledTimes(66);
  kernel.isDisposed = true;
  await vi.advanceTimersByTimeAsync(10_000);
});
