// The header: what the daemon runs on and whether it is ready.
import { getReadiness, getSystem } from "./api";
import { find, setText } from "./dom";
import { Poller } from "./poller";

const delay = 5000;

export class SystemHeader {
  readonly #ready = find("ready", HTMLElement);

  constructor(report: (error: unknown) => void) {
    new Poller(
      async (signal) => {
        const system = await getSystem(signal);
        setText(find("device", HTMLElement), deviceName(system["device"]));
        setText(find("version", HTMLElement), typeof system["version"] === "string" ? `v${system["version"]}` : "");
        const { ready, reasons } = await getReadiness(signal);
        this.#show(ready ? "ready" : "not-ready", ready ? "✓ ready" : `✕ not ready: ${reasons.join("; ") || "no reason given"}`);
        return delay;
      },
      (error) => {
        if (error !== null) {
          this.#show("unknown", "? out of reach");
        }
        report(error);
      },
    );
  }

  #show(readiness: string, text: string): void {
    this.#ready.dataset["readiness"] = readiness;
    setText(this.#ready, text);
  }
}

function deviceName(device: unknown): string {
  if (typeof device === "string") {
    return device;
  }
  if (typeof device !== "object" || device === null) {
    return "";
  }
  const { backend, name } = device as Record<string, unknown>;
  return [backend, name].filter((part) => typeof part === "string" && part !== "").join(" · ");
}
