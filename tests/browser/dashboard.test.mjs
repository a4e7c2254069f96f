// The dashboard in a real browser, before the real program: what a person does, and what they must see.
//
// MNISTD_BINARY        the program (build/release/mnistd)
// MNISTD_MNIST         the folder with the four MNIST files (data/mnist)
// CHROMIUM             the browser (/usr/bin/chromium)
// MNISTD_SCREENSHOTS   a folder that gets pictures of the page, for people to look at
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const repository = fileURLToPath(new URL("../..", import.meta.url));
const { chromium } = createRequire(join(repository, "web/package.json"))("playwright-core");
const binary = process.env.MNISTD_BINARY ?? join(repository, "build/release/mnistd");
const mnist = process.env.MNISTD_MNIST ?? join(repository, "data/mnist");
const screenshots = process.env.MNISTD_SCREENSHOTS;

let folder, daemon, origin, browser, page;
const foreignRequests = [];
const consoleErrors = [];
const violations = [];

async function startDaemon(port) {
  const portFile = join(folder, "port");
  await rm(portFile, { force: true });
  const output = [];
  daemon = spawn(
    binary,
    ["serve", "--port", String(port), "--port-file", portFile, "--data-dir", join(folder, "data")].concat([
      "--dataset",
      `mnist=${mnist}`,
      "--no-first-training",
    ]),
    { stdio: ["ignore", "pipe", "pipe"] },
  );
  daemon.stdout.on("data", (chunk) => output.push(chunk));
  daemon.stderr.on("data", (chunk) => output.push(chunk));
  daemon.on("error", (error) => output.push(`${binary}: ${error.message}`));
  for (const deadline = Date.now() + 60_000; Date.now() < deadline; await sleep(50)) {
    const text = await readFile(portFile, "utf8").catch(() => "");
    if (/^\d+\s*$/.test(text)) {
      return Number(text);
    }
    assert.equal(daemon.exitCode, null, `the daemon ended before it listened:\n${output.join("")}`);
  }
  throw new Error(`the daemon wrote no port within a minute:\n${output.join("")}`);
}

async function stopDaemon() {
  if (daemon && daemon.exitCode === null && daemon.signalCode === null && daemon.pid !== undefined) {
    const ended = once(daemon, "exit");
    daemon.kill("SIGTERM");
    await ended;
  }
}

async function getJson(path) {
  const response = await fetch(`${origin}${path}`);
  assert.equal(response.status, 200, `GET ${path}`);
  return response.json();
}

async function picture(name, options = {}) {
  if (screenshots) {
    await mkdir(screenshots, { recursive: true });
    await page.screenshot({ path: join(screenshots, `${name}.png`), fullPage: true, ...options });
  }
}

const text = (selector) => page.locator(selector).innerText();

// Waits until the element's text satisfies the pattern, and gives the text.
async function textLike(selector, pattern, timeout = 30_000) {
  let seen = "";
  for (const deadline = Date.now() + timeout; Date.now() < deadline; await sleep(50)) {
    seen = await text(selector);
    if (pattern.test(seen)) {
      return seen;
    }
  }
  assert.fail(`${selector} reads "${seen}" after ${timeout} ms, expected ${pattern}`);
}

async function points(chart) {
  return Number((await page.locator(chart).getAttribute("data-points")) ?? 0);
}

// Asks until the number is at least this, and gives the last answer for the test to judge.
async function atLeast(wanted, ask, timeout = 15_000) {
  let number = await ask();
  for (const deadline = Date.now() + timeout; number < wanted && Date.now() < deadline; number = await ask()) {
    await sleep(50);
  }
  return number;
}

// How many pixels of the chart have the colour of this line: what was drawn, not what was meant to be.
async function inkOf(chart, colour) {
  return page.evaluate(
    ([selector, property]) => {
      const canvas = document.querySelector(`${selector} canvas`);
      const copy = document.createElement("canvas");
      Object.assign(copy, { width: canvas.width, height: canvas.height + 1 });
      const context = copy.getContext("2d", { willReadFrequently: true });
      context.drawImage(canvas, 0, 1);
      // The row above the copy takes the wanted colour, so that the browser turns its name into bytes.
      context.fillStyle = getComputedStyle(document.documentElement).getPropertyValue(property).trim();
      context.fillRect(0, 0, copy.width, 1);
      const { data } = context.getImageData(0, 0, copy.width, copy.height);
      const [red, green, blue] = data;
      let count = 0;
      for (let at = 4 * copy.width; at < data.length; at += 4) {
        const near = (value, wanted) => Math.abs(value - wanted) <= 12;
        count += data[at + 3] > 200 && near(data[at], red) && near(data[at + 1], green) && near(data[at + 2], blue) ? 1 : 0;
      }
      return count;
    },
    [chart, colour],
  );
}

async function startJob(fields) {
  await page.locator("#job-more").evaluate((details) => (details.open = true));
  for (const [id, value] of Object.entries(fields)) {
    await page.fill(`#${id}`, value);
  }
  const answered = page.waitForResponse((response) => response.request().method() === "POST");
  await page.click("#start");
  return answered;
}

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "mnistd-browser-"));
  origin = `http://127.0.0.1:${await startDaemon(0)}`;
  browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"].concat([
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ]),
  });
  page = await browser.newPage({ viewport: { width: 1360, height: 900 }, colorScheme: "light" });
  page.setDefaultTimeout(15_000);
  page.on("request", (request) => {
    if (new URL(request.url()).origin !== origin) {
      foreignRequests.push(request.url());
    }
  });
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") {
      consoleErrors.push({ text: message.text(), url: message.location().url });
    }
  });
  page.on("pageerror", (error) => consoleErrors.push({ text: String(error.stack), url: "" }));
  // The strictest policy that the page must bear, beside what the daemon sends today: a comma parts two policies.
  await page.route(`${origin}/`, async (route) => {
    const response = await route.fetch();
    const headers = response.headers();
    const policies = [headers["content-security-policy"], "default-src 'self'"].filter(Boolean);
    await route.fulfill({ response, headers: { ...headers, "content-security-policy": policies.join(", ") } });
  });
  await page.exposeFunction("noteViolation", (what) => violations.push(what));
  await page.addInitScript(() => {
    document.addEventListener("securitypolicyviolation", (event) => {
      window.noteViolation(`${event.violatedDirective} ${event.blockedURI} ${event.sourceFile}:${event.lineNumber}`);
    });
  });
  await page.goto(`${origin}/`);
});

after(async () => {
  await browser?.close();
  await stopDaemon();
  if (folder) {
    await rm(folder, { recursive: true, force: true });
  }
});

// What the test itself provoked is taken out by the test; the rest is an error of the page.
afterEach(() => {
  assert.deepEqual(consoleErrors.splice(0), [], "the browser's console is clean");
  assert.deepEqual(violations.splice(0), [], "nothing broke the content security policy");
  assert.deepEqual(foreignRequests, [], "no request left the daemon");
});

function expectConsole(pattern) {
  for (let at = consoleErrors.length - 1; at >= 0; at -= 1) {
    if (pattern.test(consoleErrors[at].text)) {
      consoleErrors.splice(at, 1);
    }
  }
}

test("the header names device, version and readiness", async () => {
  const system = await getJson("/v1/system");
  await textLike("#ready", /✓ ready/);
  const device = typeof system.device === "string" ? system.device : system.device.name;
  assert.ok((await text("#device")).includes(device), `${await text("#device")} names ${device}`);
  assert.ok((await text("#version")).includes(system.version));
});

test("without a model the digit is shown, and the page says kindly how to get a prediction", async () => {
  await textLike("#digit-ascii", /TRUTH: 7/);
  assert.doesNotMatch(await text("#digit-ascii"), /PREDICTION/);
  assert.match(await text("#digit-verdict"), /No model yet: start a training/);
  assert.equal(await page.locator("#scores").isVisible(), false);
  assert.ok(await page.locator("#jobs-empty").isVisible());
});

test("a bad field is shown at its field", async () => {
  const response = await startJob({ iterations: "3.9", learning_rate: "0.01" });
  assert.equal(response.status(), 400);
  const { errors } = await response.json();
  const shown = await textLike("#iterations-error", /\S/);
  assert.ok(shown.includes(errors.find(({ field }) => field === "iterations").message), shown);
  assert.equal(await page.getAttribute("#iterations", "aria-invalid"), "true");
  assert.equal(await page.evaluate(() => document.activeElement.id), "iterations");
  assert.equal(await text("#learning_rate-error"), "");
  await picture("bad-field");

  await page.fill("#iterations", "30");
  await page.fill("#seed", "many");
  await page.click("#job-more summary");
  await page.click("#start");
  await textLike("#seed-error", /\S/);
  assert.equal(await page.locator("#job-more").evaluate((details) => details.open), true, "the folded field is opened");
  assert.equal(await text("#iterations-error"), "", "the message goes once the field is right");
  await page.fill("#seed", "");
  assert.equal((await getJson("/v1/jobs")).items.length, 0, "nothing was started");
  expectConsole(/status of 400/);
});

test("the stability limit stands beside the rate, and Auto takes half of it with either solver", async () => {
  await textLike("#rate-limit", /^Stable up to 0\.0256 on mnist$/);
  await page.click("#rate-auto");
  assert.equal(await page.inputValue("#learning_rate"), "auto");
  await page.selectOption("#solver", "gram");
  const response = await startJob({ iterations: "40", name: "automatic" });
  assert.equal(response.status(), 202);
  const { id, spec } = await response.json();
  const { stability_limit: limit } = await getJson("/v1/datasets/mnist");
  assert.equal(spec.learning_rate, limit / 2);
  assert.equal(spec.solver, "gram");
  await textLike("#job-title", /^automatic$/);
  await textLike("#job-state", /succeeded/, 120_000);
  assert.match(await text("#job-spec"), /· gram ·/);
  assert.equal(await atLeast(40, () => points("#loss-chart")), 40);
  await page.selectOption("#solver", "gemm");
  await page.fill("#learning_rate", "0.01");
  // Goes, so that what follows begins with no model.
  assert.equal((await fetch(`${origin}/v1/jobs/${id}?purge=1`, { method: "DELETE" })).status, 204);
  await page.goto(`${origin}/#`);
  await page.reload();
});

test("a click starts a job, the charts grow, it succeeds, and digits get predictions", async () => {
  const response = await startJob({ iterations: "30", learning_rate: "0.01", name: "by hand" });
  assert.equal(response.status(), 202);
  const { id } = await response.json();
  await page.waitForFunction((wanted) => location.hash === `#job=${wanted}`, id);
  await textLike("#job-title", /^by hand$/);
  await textLike("#job-state", /succeeded/, 120_000);

  const job = await getJson(`/v1/jobs/${id}`);
  const { rows } = await getJson(`/v1/jobs/${id}/metrics?since=0`);
  assert.equal(rows.length, 30);
  for (const chart of ["#loss-chart", "#accuracy-chart"]) {
    assert.equal(await atLeast(rows.length, () => points(chart)), rows.length, chart);
  }
  assert.ok((await atLeast(100, () => inkOf("#loss-chart", "--loss"))) >= 100, "the loss is drawn");
  assert.match(await text("#loss-chart .u-legend"), /Predicted \(dashed\)\s*[\d.]+/, "the predicted curve is drawn with it");
  assert.ok((await atLeast(100, () => inkOf("#accuracy-chart", "--train"))) >= 100, "the train accuracy is drawn");
  assert.ok((await atLeast(50, () => inkOf("#accuracy-chart", "--test"))) >= 50, "the test accuracy is drawn");

  const { result } = job;
  assert.equal(await text("#job-test"), `${(100 * result.test_accuracy).toFixed(2)} %`);
  assert.equal(await text("#job-train"), `${(100 * result.train_accuracy).toFixed(2)} %`);
  assert.equal(await text("#job-loss"), result.loss.toPrecision(6));
  assert.equal(await text("#job-iteration"), "30 / 30");
  const final = await text("#job-result");
  assert.ok(final.includes(`${result.test_correct.toLocaleString("en")} right`), final);
  assert.match(await text("#jobs li"), /by hand[\s\S]*✓ succeeded/);
  assert.equal(await page.locator("#job-cancel").isVisible(), false);

  const expected = await getJson("/v1/predict?dataset=mnist&split=test&index=0");
  await textLike("#digit-ascii", new RegExp(`PREDICTION: ${expected.label}`));
  const printed = await (await fetch(`${origin}/v1/datasets/mnist/test/0.txt`)).text();
  assert.equal(await page.locator("#digit-ascii").textContent(), printed.replace(/\n+$/, ""));
  await textLike("#digit-verdict", expected.label === expected.truth ? /✓ right/ : /✕ wrong/);
  const scores = await page.locator("#score-rows .number").allInnerTexts();
  assert.deepEqual(scores, expected.scores.map((score) => score.toFixed(3)));
  assert.equal(await page.locator("#digit-picture").evaluate((image) => image.decode().then(() => image.naturalWidth)), 280);
  await picture("light");
});

test("a reload keeps the job that was selected", async () => {
  const [first] = (await getJson("/v1/jobs")).items;
  const second = await (await startJob({ iterations: "5", name: "second" })).json();
  await textLike("#job-title", /^second$/);
  await textLike("#job-state", /succeeded/);
  await page.locator("#jobs a", { hasText: "by hand" }).click();
  await textLike("#job-title", /^by hand$/);
  await page.reload();
  await textLike("#job-title", /^by hand$/);
  assert.equal(await page.evaluate(() => location.hash), `#job=${first.id}`);
  assert.equal(await page.locator("#jobs a[aria-current]").getAttribute("href"), `#job=${first.id}`);
  const { result } = await getJson(`/v1/jobs/${second.id}`);
  await textLike("#digit-model", new RegExp(result.model_id));
  assert.equal(await atLeast(30, () => points("#loss-chart")), 30, "the charts are read again");
});

test("digits are leafed through, also only the wrong ones", async () => {
  await page.fill("#digit-index", "41");
  await page.press("#digit-index", "Enter");
  await textLike("#digit-ascii", /ID: 42\/10000/);
  await page.click("#digit-next");
  await textLike("#digit-ascii", /ID: 43\/10000/);
  await page.click("#digit-previous");
  await textLike("#digit-ascii", /ID: 42\/10000/);
  await page.focus("#digit-ascii");
  await page.keyboard.press("ArrowLeft");
  await textLike("#digit-ascii", /ID: 41\/10000/);
  await page.keyboard.press("ArrowRight");
  await textLike("#digit-ascii", /ID: 42\/10000/);
  await page.fill("#digit-index", "10000");
  await page.press("#digit-index", "Enter");
  await textLike("#digit-note", /from 0 to 9,999/);

  const { items } = await getJson("/v1/datasets/mnist/test?wrong=1&limit=1000");
  await page.fill("#digit-index", "0");
  await page.press("#digit-index", "Enter");
  await textLike("#digit-ascii", /ID: 1\/10000/);
  await page.check("#digit-wrong");
  // Digit 0 may be among the wrong ones; the page then stays on it.
  const [first, second] = items;
  await textLike("#digit-ascii", new RegExp(`ID: ${first.index + 1}/10000\\s+PREDICTION: ${first.predicted}`));
  await textLike("#digit-verdict", new RegExp(`✕ wrong: predicted ${first.predicted}, is ${first.truth}`));
  await textLike("#digit-note", /^1 of [\d,]+ wrong digits$/);
  await page.click("#digit-next");
  await textLike("#digit-ascii", new RegExp(`ID: ${second.index + 1}/10000`));
  await textLike("#digit-note", /^2 of /);
  await picture("wrong-digit");
  await page.uncheck("#digit-wrong");
});

test("a running job is cancelled by its button", async () => {
  const { id } = await (await startJob({ iterations: "100000", name: "too long" })).json();
  await textLike("#job-state", /running/);
  await atLeast(1, () => points("#loss-chart"));
  await picture("running");
  await page.click("#job-cancel");
  await textLike("#job-state", /cancelled/);
  assert.equal((await getJson(`/v1/jobs/${id}`)).state, "cancelled");
  assert.equal(await page.locator("#job-cancel").isVisible(), false);
  assert.ok((await points("#loss-chart")) > 0, "what was measured stays");
});

test("a job that diverges says why it failed", async () => {
  const { id } = await (await startJob({ iterations: "300", learning_rate: "1", name: "too fast" })).json();
  await textLike("#job-state", /✕ failed/);
  const { error } = await getJson(`/v1/jobs/${id}`);
  assert.ok(error.message.length > 0);
  assert.ok((await text("#job-error")).includes(error.message));
  assert.match(error.message, /below 0\.0256327, the stability limit of mnist/);
  assert.match(await text("#job-warnings"), /learning rate 1 is above the stability limit of mnist, 0\.0256327/);
  assert.ok((await points("#loss-chart")) > 0);
  await picture("failed");
  await page.fill("#learning_rate", "0.01");
});

test("dark and narrow: nothing is cut off", async () => {
  await page.locator("#jobs a", { hasText: "by hand" }).click();
  await textLike("#job-title", /^by hand$/);
  await page.emulateMedia({ colorScheme: "dark" });
  assert.equal(await atLeast(30, () => points("#loss-chart")), 30);
  assert.ok((await atLeast(100, () => inkOf("#loss-chart", "--loss"))) >= 100, "the chart is drawn in the dark colours");
  await picture("dark");
  await page.setViewportSize({ width: 360, height: 740 });
  await sleep(300);
  const [content, window] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  assert.ok(content <= window, `the page is ${content} px wide in a window of ${window} px`);
  const pre = await page.locator("#digit-ascii").evaluate((node) => [node.scrollWidth, node.clientWidth]);
  assert.ok(pre[0] <= pre[1], `the digit is ${pre[0]} px wide in a place of ${pre[1]} px`);
  await picture("narrow-dark");
  await page.emulateMedia({ colorScheme: "light" });
  await picture("narrow-light");
  await page.setViewportSize({ width: 1360, height: 900 });
});

test("a daemon that goes away is said so, and found again", async () => {
  const port = Number(new URL(origin).port);
  await stopDaemon();
  await textLike("#connection", /Connection lost, retrying/);
  await textLike("#ready", /out of reach/);
  await picture("connection-lost");
  await startDaemon(port);
  await textLike("#connection", /^$/);
  await textLike("#ready", /✓ ready/);
  assert.match(await text("#jobs"), /by hand/);
  expectConsole(/ERR_CONNECTION_REFUSED|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE/);
});
