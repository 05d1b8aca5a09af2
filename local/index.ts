export {
  type CdkOptions,
  type DeployOptions,
  deploy,
  destroy,
  type Outputs,
} from "./deploy.ts";
export type { Engine, EngineKind } from "./engine.ts";
export { DeployFailed, type EngineProblem, EngineUnavailable, isEngineUnavailable } from "./errors.ts";
export { type FindOptions, findOrStartEngine } from "./find.ts";
export type { Product } from "./health.ts";
export { type InstallOptions, installEngine } from "./install.ts";
export type { Installation } from "./paths.ts";
export { type StartOptions, startEngine } from "./start.ts";
export { stopEngine } from "./stop.ts";
export { urlOf } from "./urls.ts";
