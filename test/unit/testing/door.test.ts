import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { expect, it } from "vitest";

const path = (relative: string) => fileURLToPath(new URL(`../../../${relative}`, import.meta.url));

/** Every file that a bundle of this entry holds. */
async function filesOf(entry: string): Promise<readonly string[]> {
  const { metafile } = await build({
    entryPoints: [path(entry)],
    absWorkingDir: path(""),
    bundle: true,
    platform: "node",
    format: "esm",
    external: ["zod"],
    write: false,
    metafile: true,
  });
  return Object.keys(metafile.inputs);
}

it("the kit is reached by no other door, and reaches no AWS, no process and no test runner", async () => {
  const main = await filesOf("src/index.ts");
  expect(main).toContain("src/producer.ts");
  expect(main.filter((file) => file.includes("testing"))).toEqual([]);

  const kit = await filesOf("src/testing.ts");
  expect(kit).toContain("src/flow/consume.ts");
  const foreign = kit.filter((file) => !/^src\/(testing|job|flow|ports|adapters\/memory)/.test(file));
  // How large a row is as an item of the table, which needs its encoding and no client.
  const sizes = [
    "adapters/commit-rules.ts",
    "adapters/item-size.ts",
    "adapters/dynamo/codec.ts",
    "adapters/dynamo/fields.ts",
  ];
  const allowed = ["consumer.ts", "names.ts", ...sizes].map((file) => `src/${file}`);
  expect(foreign.filter((file) => !file.includes("@standard-schema")).sort()).toEqual(allowed.sort());
});
