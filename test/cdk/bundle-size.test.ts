import { fileURLToPath } from "node:url";
import { type BuildOptions, build } from "esbuild";
import { expect, it } from "vitest";

const path = (relative: string) => fileURLToPath(new URL(`../../${relative}`, import.meta.url));
/** As esbuild prints it. */
const KB = 1_024;

/** As the constructs bundle: its size, and how much of it each file of ours is. */
async function bundled(entry: Pick<BuildOptions, "entryPoints" | "stdin">) {
  const { metafile } = await build({
    ...entry,
    tsconfig: path("tsconfig.json"),
    absWorkingDir: path(""),
    bundle: true,
    minify: true,
    platform: "node",
    format: "esm",
    target: "node20",
    outfile: "bundle.mjs",
    write: false,
    metafile: true,
  });
  const [output] = Object.values(metafile.outputs);
  const inputs = Object.entries(output?.inputs ?? {}).map(
    ([file, { bytesInOutput }]) => [file, bytesInOutput] as const,
  );
  const ours = new Map(inputs.filter(([file, bytes]) => file.startsWith("src/") && bytes > 0));
  const oursBytes = [...ours.values()].reduce((sum, bytes) => sum + bytes, 0);
  return { bytes: output?.bytes ?? Number.POSITIVE_INFINITY, ours: [...ours.keys()], oursBytes };
}

it("the reference consumer's bundle stays under 790 KB minified, of which ours under 96", async () => {
  const { bytes, oursBytes } = await bundled({ entryPoints: [path("lambdas/consumer.ts")] });
  console.log(`consumer bundle: ${Math.round(bytes / KB)} KB, ours ${Math.round(oursBytes / KB)} KB`);
  expect(bytes).toBeLessThan(790 * KB);
  expect(oursBytes).toBeGreaterThan(0);
  // 80 once; since then the batched writes of docs/adr/0013 (5 KB), commits and children in full, and errors that say
  // what is wrong to those who write without types. It is an eighth of the bundle; start-up is the bench's to judge.
  expect(oursBytes).toBeLessThan(96 * KB);
});

it("a producer's bundle holds nothing that runs, sweeps or replays jobs", async () => {
  const contents = `import { createProducer } from "antrean"; export const jobs = createProducer({ name: "billing" });`;
  const { bytes, ours, oursBytes } = await bundled({ stdin: { contents, resolveDir: path("") } });
  console.log(`producer bundle: ${Math.round(bytes / KB)} KB, ours ${Math.round(oursBytes / KB)} KB`);
  const flows = ours.flatMap((file) => /^src\/flow\/(.*)\.ts$/.exec(file)?.[1] ?? []);
  const wanted = [
    "cancel",
    "enqueue-input",
    "parts",
    "persist",
    "prepare",
    "produce",
    "recent",
    "restart",
    "send",
    "status",
  ];
  expect(flows.filter((flow) => !wanted.includes(flow))).toEqual([]);
  expect(flows).toContain("produce");
  expect(ours.filter((file) => /inbox|dead-letters|memory|testing|worker|lambda\.ts|consumer/.test(file))).toEqual([]);
  expect(oursBytes).toBeLessThan(60 * KB);
});
