import { createMemoryTransport } from "../../src/adapters/memory/transport.ts";
import { createFakeRuntime } from "../support/fake-runtime.ts";
import { deadLettersContract } from "./dead-letters.contract.ts";

deadLettersContract("memory", async () => {
  const runtime = createFakeRuntime();
  const transport = createMemoryTransport({ queues: ["default"], runtime });
  return {
    transport,
    letters: transport.deadLetters,
    queue: "default",
    elapse: (ms) => void runtime.advance(ms),
  };
});
