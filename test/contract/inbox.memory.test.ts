import { createMemoryInbox } from "../../src/adapters/memory/inbox.ts";
import { createMemoryTransport } from "../../src/adapters/memory/transport.ts";
import { createFakeRuntime } from "../support/fake-runtime.ts";
import { inboxContract } from "./inbox.contract.ts";

inboxContract("memory", async () => {
  const runtime = createFakeRuntime();
  const transport = createMemoryTransport({ queues: ["default"], runtime });
  return { transport, inbox: createMemoryInbox(transport, runtime), queue: "default", elapse: runtime.advance };
});
