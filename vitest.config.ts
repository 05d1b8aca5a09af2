import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const source = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/**
 * Three projects, by what they need:
 * - `fast`: nothing. Rules, properties, flows and contracts in memory; seconds.
 * - `cdk`: synth only.
 * - `aws`: the local AWS, which each run starts for itself on a free port.
 */
export default defineConfig({
  resolve: {
    alias: [
      { find: /^antrean$/, replacement: source("./src/index.ts") },
      { find: /^antrean\/cdk$/, replacement: source("./cdk/index.ts") },
      { find: /^antrean\/testing$/, replacement: source("./src/testing.ts") },
    ],
  },
  test: {
    reporters: ["default", source("./test/support/closing-line.ts")],
    projects: [
      {
        extends: true,
        test: {
          name: "fast",
          include: ["test/{unit,property,fuzz,simulation}/**/*.test.ts", "test/contract/*memory.test.ts"],
          testTimeout: 30_000,
          // Nothing here shares state through modules; a worker a file would cost more than the tests.
          isolate: false,
          // Two halves of the time on the two cores of a small machine; the others need both for an engine.
          maxWorkers: 2,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: "cdk",
          include: ["test/cdk/**/*.test.ts"],
          testTimeout: 120_000,
          hookTimeout: 120_000,
          maxWorkers: 1,
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        test: {
          name: "aws",
          include: ["test/contract/*aws.test.ts", "test/{integration,e2e}/**/*.test.ts"],
          globalSetup: ["test/support/aws-engine.ts"],
          testTimeout: 240_000,
          hookTimeout: 240_000,
          maxWorkers: 1,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
