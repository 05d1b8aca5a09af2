import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { expect, it } from "vitest";

const path = (relative: string) => fileURLToPath(new URL(`../../${relative}`, import.meta.url));
/** As esbuild prints it. */
const KB = 1_024;

it("the reference consumer's bundle stays under 790 KB minified, of which ours under 88", async () => {
  const { metafile } = await build({
    entryPoints: [path("lambdas/consumer.ts")],
    tsconfig: path("tsconfig.json"),
    absWorkingDir: path(""),
    bundle: true,
    minify: true,
    platform: "node",
    format: "esm",
    target: "node20",
    outfile: "consumer.mjs",
    write: false,
    metafile: true,
  });
  const [output] = Object.values(metafile.outputs);
  const inputs = Object.entries(output?.inputs ?? {});
  const ours = inputs
    .filter(([file]) => file.startsWith("src/"))
    .reduce((sum, [, { bytesInOutput }]) => sum + bytesInOutput, 0);
  const bytes = output?.bytes ?? Number.POSITIVE_INFINITY;
  console.log(`consumer bundle: ${Math.round(bytes / KB)} KB, ours ${Math.round(ours / KB)} KB`);
  expect(bytes).toBeLessThan(790 * KB);
  expect(ours).toBeGreaterThan(0);
  // 80 until the batched writes of docs/adr/0013 came, which are 5 KB and a fifth of the requests.
  expect(ours).toBeLessThan(88 * KB);
});
