import { describe } from "vitest";
import { deployLocks } from "./locks/set-up.ts";
import { agenda } from "./locks/suites/agenda.ts";
import { commit } from "./locks/suites/commit.ts";
import { orders } from "./locks/suites/orders.ts";

const deployed = deployLocks(
  // A payment dies once, in its first run.
  (call, earlier) =>
    /^(before|within|after)-/.test(call.entity) && !earlier.some(({ entity }) => entity === call.entity),
);

describe("ctx.commit", () => {
  describe.concurrent("a death at every moment", () => commit(deployed));
});
describe.concurrent("time and order", () => {
  agenda(deployed);
  orders(deployed);
});
