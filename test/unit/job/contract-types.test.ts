import { describe, expectTypeOf, it } from "vitest";
import * as z from "zod";
import { createConsumer, defineJob, everyTime, handle, type JobContext, type SqsHandler } from "../../../src/index.ts";
import type { Input, JobContract, Output } from "../../../src/job/contract.ts";

/** These are checked by the compiler (`tsc`): at run time they only have to be reached. */
const V1 = z.object({ eventId: z.string() });
const V2 = z.object({ eventId: z.string(), version: z.coerce.number(), loud: z.boolean().default(false) });
type Payload = { eventId: string; version: number; loud: boolean };

describe("defineJob", () => {
  it("gives key, lock and supersedes the payload as it is after validation", () => {
    const contract = defineJob("calendar.sync_event", {
      version: 2,
      payload: V2,
      key: (p) => {
        expectTypeOf(p).toEqualTypeOf<Payload>();
        return p.eventId;
      },
      lock: (p) => {
        expectTypeOf(p).toEqualTypeOf<Payload>();
        return p.eventId;
      },
      supersedes: (p) => {
        expectTypeOf(p).toEqualTypeOf<Payload>();
        return p.version;
      },
    });
    expectTypeOf(contract).toEqualTypeOf<JobContract<typeof V2>>();
    expectTypeOf<Output<typeof V2>>().toEqualTypeOf<Payload>();
    expectTypeOf<Input<typeof V2>>().toEqualTypeOf<{ eventId: string; version: unknown; loud?: boolean | undefined }>();
  });

  it("gives an upcast the payload of its own version", () => {
    defineJob("calendar.sync_event", {
      version: 3,
      payload: V2,
      upcast: {
        1: {
          payload: V1,
          to: (v1) => {
            expectTypeOf(v1).toEqualTypeOf<{ eventId: string }>();
            return { ...v1, version: 0 };
          },
        },
        2: {
          payload: V2,
          to: (v2) => {
            expectTypeOf(v2).toEqualTypeOf<Payload>();
            return v2;
          },
        },
      },
      key: everyTime(),
    });
  });

  it("wants a key, and keys are texts", () => {
    // @ts-expect-error no key
    const none = () => defineJob("a.b", { version: 1, payload: V1 });
    // @ts-expect-error a key is a text
    const number = () => defineJob("a.b", { version: 1, payload: V1, key: () => 1 });
    expectTypeOf(none).toBeFunction();
    expectTypeOf(number).toBeFunction();
  });
});

describe("handle and createConsumer", () => {
  const contract = defineJob("calendar.sync_event", { version: 1, payload: V2, key: (p) => p.eventId });
  const welcome = defineJob("email.send_welcome", { version: 1, payload: V1, key: (p) => p.eventId });
  interface Deps {
    readonly provider: { put(id: string): Promise<void> };
  }
  const context = async (): Promise<Deps> => ({ provider: { put: async () => {} } });

  it("types the payload by its contract and ctx.deps by the consumer's context", () => {
    const handler = createConsumer({ context }, [
      handle(contract, async (p, ctx) => {
        expectTypeOf(p).toEqualTypeOf<Payload>();
        expectTypeOf(ctx).toEqualTypeOf<JobContext<Deps>>();
        await ctx.deps.provider.put(p.eventId);
      }),
      handle(welcome, async (p, ctx) => {
        expectTypeOf(p).toEqualTypeOf<{ eventId: string }>();
        await ctx.deps.provider.put(p.eventId);
      }),
    ]);
    expectTypeOf(handler).toEqualTypeOf<SqsHandler>();
  });

  it("without a context nobody can use deps", () => {
    createConsumer({}, [handle(welcome, (_, ctx) => expectTypeOf(ctx.deps).toBeUnknown())]);
  });

  it("refuses a handler whose deps the context does not make", () => {
    const needy = handle(welcome, (p, ctx: JobContext<{ readonly mailer: string }>) => ctx.deps.mailer + p.eventId);
    // @ts-expect-error the context makes a provider and no mailer
    createConsumer({ context }, [needy]);
  });
});
