import { createMemoryJobStore } from "../../src/adapters/memory/job-store.ts";
import { reopenContract } from "./reopen.contract.ts";

reopenContract("memory", async () => ({ store: createMemoryJobStore({ shards: 8 }) }));
