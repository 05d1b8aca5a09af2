import { expect, test } from "vitest";
import { eventually } from "../../support/eventually.ts";
import { unique } from "../../support/rows.ts";
import { plainBody, plainMessage } from "../bench/stage.ts";
import type { Deployed } from "../deployed.ts";

const PATIENT_MS = 60_000;

export function batches(deployed: () => Deployed): void {
  const payload = (id: string, more: object = {}) => ({ id, recorder: deployed().recorder.url, ...more });

  test(
    "ten concurrent invocations with one record each of the same job run its handler once",
    async () => {
      const { bench, recorder } = deployed();
      // Ten workers are started first, so that the ten that count really run side by side.
      const others = Array.from({ length: 10 }, () => unique("warm"));
      await Promise.all(others.map((other) => bench.invoke([plainBody(other, payload(other))])));
      for (const other of others) expect(recorder.runsOf(other)).toHaveLength(1);

      const id = unique("ten");
      const answered: unknown[] = [];
      const invocations = Array.from({ length: 10 }, async () => {
        answered.push(await bench.invoke([plainBody(id, payload(id, { hold: true }))]));
      });
      // The one that runs is held until the nine others have been answered: they really met it.
      expect(
        await eventually(
          () => answered.length,
          (count) => count === 9,
          30_000,
        ),
      ).toBe(9);
      recorder.release(id);
      await Promise.all(invocations);
      expect(answered).toEqual(Array.from({ length: 10 }, () => ({ batchItemFailures: [] })));
      expect(recorder.runsOf(id)).toHaveLength(1);
      expect(await bench.row(id)).toMatchObject({ state: "succeeded", attempt: 1 });
    },
    PATIENT_MS,
  );

  test("one batch of ten copies of a job runs its handler once", async () => {
    const { bench, recorder } = deployed();
    const id = unique("copies");
    const body = plainBody(id, payload(id));
    expect(await bench.invoke(Array.from({ length: 10 }, () => body))).toEqual({ batchItemFailures: [] });
    expect(recorder.runsOf(id)).toHaveLength(1);
    expect(await bench.row(id)).toMatchObject({ state: "succeeded", attempt: 1 });
  });

  test(
    "garbage and a failing job beside eight others: eight succeed, one is buried, one is retried after its delay",
    async () => {
      const { bench, recorder } = deployed();
      const ids = Array.from({ length: 8 }, () => unique("good"));
      const failing = unique("failing");
      const garbage = `{"no json ${unique("garbage")}`;
      await bench.send([
        ...ids.slice(0, 4).map((id) => plainMessage(plainBody(id, payload(id)))),
        plainMessage(garbage),
        plainMessage(plainBody(failing, payload(failing, { does: "fail-once" }))),
        ...ids.slice(4).map((id) => plainMessage(plainBody(id, payload(id)))),
      ]);

      for (const row of await bench.ended([...ids, failing], 30_000))
        expect(row).toMatchObject({ state: "succeeded", attempt: row?.envelope.idempotencyKey === failing ? 2 : 1 });
      for (const id of ids) expect(recorder.runsOf(id)).toHaveLength(1);
      const [first, second, ...more] = recorder.runsOf(failing);
      expect(more).toEqual([]);
      expect((second?.startedAtMs ?? 0) - (first?.startedAtMs ?? 0)).toBeGreaterThanOrEqual(3_000);
      const buried = await eventually(
        () => bench.buried(garbage),
        ({ length }) => length > 0,
      );
      expect(buried.map(({ body }) => body)).toEqual([garbage]);
      expect(buried[0]?.attributes["antrean-reason"]).toBe("malformed-json");
    },
    PATIENT_MS,
  );

  test("another service's plain JSON runs once, however often it is sent", async () => {
    const { bench, recorder } = deployed();
    const id = unique("plain");
    const body = plainBody(id, payload(id), { department: "crm" });
    await bench.send([plainMessage(body)]);
    expect(await bench.ended([id], 20_000)).toMatchObject([{ state: "succeeded", attempt: 1 }]);
    // In the same batch or not: behind it comes one that only an answered copy lets through.
    const marker = unique("marker");
    await bench.send([plainMessage(body), plainMessage(plainBody(marker, payload(marker)))]);
    await bench.ended([marker], 20_000);
    expect(await bench.invoke([body])).toEqual({ batchItemFailures: [] });
    expect(recorder.runsOf(id)).toHaveLength(1);
  });

  test("another service's wrong payload lands in the DLQ to the byte, with the path of what is wrong", async () => {
    const { bench, recorder } = deployed();
    const id = unique("wrong");
    const body = plainBody(id, { id: 42, recorder: recorder.url });
    await bench.send([plainMessage(body, { sender: { type: "String", value: "crm" } })]);
    const [buried] = await eventually(
      () => bench.buried(id),
      ({ length }) => length > 0,
      20_000,
    );
    expect(buried?.body).toBe(body);
    expect(buried?.attributes).toMatchObject({ sender: "crm", "antrean-reason": "invalid-payload" });
    expect(JSON.parse(buried?.attributes.antrean ?? "{}")).toMatchObject({
      detail: expect.stringContaining("payload.id"),
      attempts: 0,
      traceId: `trace-${id}`,
      jobType: "bench.do_step",
      schemaVersion: 1,
    });
    expect(await bench.row(id)).toBeUndefined();
    expect(recorder.runsOf(id)).toEqual([]);
  });

  test("a message that is marked as ours and has no row is an orphan and never runs", async () => {
    const { bench, recorder } = deployed();
    const id = unique("orphan");
    const body = plainBody(id, payload(id));
    await bench.send([plainMessage(body, { "antrean-row": { type: "String", value: "1.bm9zdWNocm93" } })]);
    const [buried] = await eventually(
      () => bench.buried(id),
      ({ length }) => length > 0,
      20_000,
    );
    expect(buried).toMatchObject({ body, attributes: { "antrean-reason": "orphan", "antrean-row": "1.bm9zdWNocm93" } });
    expect(await bench.row(id)).toBeUndefined();
    expect(recorder.runsOf(id)).toEqual([]);
  });
}
