/** What the caller does next depends on `code`; `message` always ends with the next step. */
export type EngineProblem =
  | "endpoint-silent"
  | "unsupported-platform"
  | "python-missing"
  | "venv-missing"
  | "install-failed"
  | "port-taken"
  | "engine-exited"
  | "engine-unhealthy"
  | "docker-failed"
  | "interrupted";

/** No AWS endpoint could be had on this computer. */
export class EngineUnavailable extends Error {
  override readonly name = "EngineUnavailable";
  readonly code: EngineProblem;

  constructor(code: EngineProblem, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** The CDK CLI ended with an error; `message` holds its last lines. */
export class DeployFailed extends Error {
  override readonly name = "DeployFailed";
  readonly code = "deploy-failed";
}

export function isEngineUnavailable(error: unknown): error is EngineUnavailable {
  return error instanceof Error && error.name === "EngineUnavailable" && "code" in error;
}

/** The way on that needs nothing installed; added to each message about the embedded engine. */
export const WAY_OUT =
  "Or set AWS_ENDPOINT_URL to an AWS endpoint that runs already (LocalStack, MiniStack or any other).";
