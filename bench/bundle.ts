import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url));

/**
 * As the constructs bundle (cdk/constructs/job-function.ts): everything in one minified file.
 *
 * @param entry relative to this folder
 * @returns the bundle's path and its size in bytes
 */
export async function bundle(
  entry: string,
  into: string,
  { minify = true } = {},
): Promise<{ readonly file: string; readonly bytes: number }> {
  const file = join(into, `${entry.replace(/\.ts$/, "").replaceAll("/", "-")}.mjs`);
  const { metafile } = await build({
    entryPoints: [path(entry)],
    outfile: file,
    tsconfig: path("../tsconfig.json"),
    absWorkingDir: path(".."),
    bundle: true,
    minify,
    platform: "node",
    format: "esm",
    target: "node20",
    mainFields: ["module", "main"],
    banner: {
      js: 'import { createRequire as benchRequire } from "node:module"; const require = benchRequire(import.meta.url);',
    },
    metafile: true,
    logLevel: "error",
  });
  return { file, bytes: Object.values(metafile.outputs)[0]?.bytes ?? 0 };
}
