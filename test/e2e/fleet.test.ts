import { describe } from "vitest";
import { scriptedFate } from "./locks/script.ts";
import { deployLocks } from "./locks/set-up.ts";
import { fleet } from "./locks/suites/fleet.ts";

const deployed = deployLocks(scriptedFate("minute-1"));

describe("2,000 jobs and a minute of deaths", () => fleet(deployed));
