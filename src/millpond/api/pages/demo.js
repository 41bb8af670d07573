// Asks the server for the figures four times a second and moves the page to them.
"use strict";

const EVERY_MS = 250;
const RETRY_MS = 1000;
const PATIENCE_MS = 3000;
const RIPPLE_MS = 450;
const still = matchMedia("(prefers-reduced-motion: reduce)");
const whole = new Intl.NumberFormat("en-US");
const $ = (id) => document.getElementById(id);

let user = new URLSearchParams(location.search).get("user") || "";
let users = [];
let region = "";
let rippled = 0;

// --- numbers ---------------------------------------------------------------------------------------

const shown = new Map();

/** Counts an element's number up or down to `value` until the next figures are due. */
function count(element, value) {
  const from = shown.get(element)?.now ?? value;
  const begun = performance.now();
  const step = (now) => {
    // A frame's time may lie before the moment in which it was asked for.
    const part = still.matches ? 1 : Math.min(1, Math.max(0, (now - begun) / EVERY_MS));
    const state = shown.get(element);
    if (state?.begun !== begun) return;
    state.now = from + (value - from) * part;
    element.textContent = whole.format(Math.round(state.now));
    if (part < 1) requestAnimationFrame(step);
  };
  shown.set(element, { begun, now: from });
  step(begun);
}

function brief(value) {
  return value >= 10 ? whole.format(Math.round(value)) : (Math.round(value * 10) / 10).toString();
}

function text(element, value) {
  if (element.textContent !== value) element.textContent = value;
}

// --- bars ------------------------------------------------------------------------------------------

/** Makes list `ol` show `rows` ({name, visits}), each row keeping its element so that it glides to its place. */
function bars(ol, rows, label) {
  const limit = Number(ol.style.getPropertyValue("--rows"));
  const kept = new Map([...ol.children].map((li) => [li.dataset.name, li]));
  const most = Math.max(1, ...rows.map((row) => row.visits));
  rows.slice(0, limit).forEach((row, at) => {
    const li = kept.get(row.name) ?? entering(ol, row.name, at, label);
    kept.delete(row.name);
    li.classList.remove("leaving");
    li.style.setProperty("--at", at);
    li.style.setProperty("--part", row.visits / most);
    count(li.lastElementChild, row.visits);
  });
  for (const li of kept.values()) leaving(li);
}

function entering(ol, name, at, label) {
  const li = document.createElement("li");
  li.dataset.name = name;
  li.className = "entering";
  li.style.setProperty("--at", at);
  li.style.setProperty("--part", 0);
  const called = document.createElement("span");
  called.className = "name";
  const icon = label(called, name);
  const visits = document.createElement("span");
  visits.className = "count";
  li.append(...(icon ? [icon] : []), called, visits);
  ol.append(li);
  li.getBoundingClientRect();
  li.classList.remove("entering");
  return li;
}

function leaving(li) {
  if (li.classList.contains("leaving")) return;
  li.classList.add("leaving");
  setTimeout(() => li.classList.contains("leaving") && (shown.delete(li.lastElementChild), li.remove()), 400);
}

/** './products/lantern' with the part before its last name dimmed. */
function urlLabel(element, url) {
  const cut = url.lastIndexOf("/") + 1;
  const path = document.createElement("i");
  path.textContent = url.slice(0, cut);
  element.append(path, url.slice(cut));
}

function deviceLabel(element, device) {
  element.textContent = device;
  return icon(device.split("-")[0]);
}

function icon(kind) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const use = document.createElementNS("http://www.w3.org/2000/svg", "use");
  use.setAttribute("href", "#" + (["phone", "laptop", "tablet"].includes(kind) ? kind : "other"));
  svg.setAttribute("aria-hidden", "true");
  svg.append(use);
  return svg;
}

// --- sections --------------------------------------------------------------------------------------

function headline(figures) {
  const before = shown.get($("visits"))?.now ?? figures.visits;
  count($("visits"), figures.visits);
  text($("rate"), brief(figures.rate));
  text($("freshness"), figures.freshness_ms === null ? "–" : brief(figures.freshness_ms));
  curve(figures.rates);
  if (figures.visits > before) ripple();
}

/** Draws the last minute; the scale starts at 0 and leaves a little air above the peak. */
function curve(rates) {
  const peak = Math.max(1, ...rates);
  const points = rates.map((rate, i) => [300 - (rates.length - 1 - i) * (300 / 59), 54 - (rate / (peak * 1.12)) * 52]);
  const line = points.map(([x, y], i) => `${i ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");
  const drawn = points.length > 1;
  $("curve").querySelector(".line").setAttribute("d", drawn ? line : "");
  $("curve").querySelector(".area").setAttribute("d", drawn ? `${line}V56H${points[0][0].toFixed(1)}Z` : "");
  text($("peak"), drawn ? `peak ${brief(peak)}` : "");
}

/** A drop falls into the pond, no more often than the eye likes. */
function ripple() {
  const now = performance.now();
  if (still.matches || now - rippled < RIPPLE_MS) return;
  rippled = now;
  const ring = document.createElement("span");
  ring.className = "drop";
  ring.style.left = `${4 + Math.random() * 92}%`;
  ring.style.top = `${10 + Math.random() * 80}%`;
  ring.addEventListener("animationend", () => ring.remove());
  $("ripples").append(ring);
}

function devices(figures) {
  const all = figures.device_kinds.reduce((sum, kind) => sum + kind.visits, 0);
  for (const { name, visits } of figures.device_kinds) {
    const part = all ? (100 * visits) / all : 0;
    $("share").querySelector(`[data-kind="${name}"]`).style.width = `${part}%`;
    text($("kinds").querySelector(`[data-kind="${name}"] dd`), all ? `${Math.round(part)} %` : "–");
  }
  bars($("devices"), figures.devices, deviceLabel);
}

function visitor(found) {
  if (!found) return;
  if (!user) user = found.userid;
  if (found.userid !== user) return;
  if (document.activeElement !== $("user")) $("user").value = user;
  $("user-sql").textContent = `SELECT url, device_id, visits FROM user_url_device_visits\nWHERE userid = '${user.replaceAll("'", "''")}';`;
  count($("user-visits"), found.visits);
  text($("user-says"), found.visits === 1 ? "visit" : "visits");
  $("user-urls").dataset.empty = `No visits of “${user}” yet`;
  $("user-devices").dataset.empty = "";
  bars($("user-urls"), found.urls, urlLabel);
  bars($("user-devices"), found.devices, deviceLabel);
}

function userList(names) {
  if (names.join() === users.join()) return;
  users = names;
  $("users").replaceChildren(...names.map((name) => Object.assign(document.createElement("option"), { value: name })));
}

const REGION_STATES = {
  absent: "No users from Kinesis on this server",
  filling: "Catching up",
  empty: "Nothing here yet",
  failed: "The regions cannot be asked just now",
};

/** The regions and the pages of the one that is chosen; what is missing here leaves the rest of the page alone. */
function regions(told) {
  const found = told.regions;
  const waiting = REGION_STATES[told.state] ?? "";
  for (const id of ["regions", "region-urls"]) $(id).dataset.empty = waiting;
  regionList(found.map((row) => row.name));
  bars($("regions"), found, (element, name) => { element.textContent = name; });
  bars($("region-urls"), found.find((row) => row.name === region)?.urls ?? [], urlLabel);
}

function regionList(names) {
  const select = $("region");
  if (!names.includes(region)) region = names[0] ?? "";
  const listed = names.length ? names.toSorted() : [""];
  if ([...select.options].map((option) => option.value).join() !== listed.join()) {
    select.replaceChildren(...listed.map((name) => new Option(name || "–", name)));
    select.disabled = !names.length;
  }
  if (document.activeElement !== select) select.value = region;
}

// --- states ----------------------------------------------------------------------------------------

const STATES = {
  live: ["Live", ""],
  empty: ["Waiting", "The views are ready and have not seen a click yet. The first one will show up here by itself."],
  filling: ["Catching up", "The views are working through the clicks that came before."],
  absent: ["No views", "The demo’s views do not exist on this server. Start them with `millpond demo`."],
  lost: ["Connection lost", "The server does not answer. These are the last figures; the page goes on by itself."],
};

function state(name, note = "") {
  const [label, explained] = STATES[name];
  document.body.dataset.state = name;
  text($("status"), label);
  const full = [explained, note].filter(Boolean).join(" ");
  if ($("notice").dataset.text === full) return;
  $("notice").dataset.text = full;
  $("notice").hidden = !full;
  $("notice").replaceChildren(...full.split("`").map((part, i) => {
    return i % 2 ? Object.assign(document.createElement("code"), { textContent: part }) : part;
  }));
}

function show(figures) {
  if ("visits" in figures) {
    const waiting = figures.state === "live" ? "" : "Nothing here yet";
    for (const id of ["urls", "devices", "user-urls", "user-devices"]) $(id).dataset.empty = waiting;
    headline(figures);
    bars($("urls"), figures.urls, urlLabel);
    devices(figures);
    userList(figures.users);
    regions(figures.regions);
    visitor(figures.user);
  }
  state(figures.state, figures.note);
}

// --- asking ----------------------------------------------------------------------------------------

let timer = 0;
let asking = null;

async function ask() {
  clearTimeout(timer);
  asking?.abort();
  const mine = (asking = new AbortController());
  const patience = setTimeout(() => mine.abort("patience"), PATIENCE_MS);
  let pause = EVERY_MS;
  try {
    const answer = await fetch(`/demo/stats.json${user ? "?user=" + encodeURIComponent(user) : ""}`, { signal: mine.signal });
    const figures = await answer.json();
    if (mine !== asking) return;
    if (!answer.ok) throw new Error(figures.note);
    show(figures);
  } catch {
    if (mine !== asking) return;
    state("lost");
    pause = RETRY_MS;
  } finally {
    clearTimeout(patience);
  }
  if (!document.hidden) timer = setTimeout(ask, pause);
}

function choose(name) {
  user = name.trim();
  if (!user) return;
  const address = new URL(location);
  address.searchParams.set("user", user);
  history.replaceState(null, "", address);
  shown.delete($("user-visits"));
  ask();
}

function step(by) {
  if (!users.length) return;
  const at = users.indexOf(user);
  const name = users[(at + by + users.length) % users.length];
  $("user").value = name;
  choose(name);
}

$("pick").addEventListener("submit", (event) => { event.preventDefault(); choose($("user").value); $("user").blur(); });
$("user").addEventListener("input", () => users.includes($("user").value) && choose($("user").value));
$("user").addEventListener("focus", () => $("user").select());
$("user").addEventListener("blur", () => { $("user").value = user; });
$("region").addEventListener("change", () => { region = $("region").value; ask(); });
$("previous").addEventListener("click", () => step(-1));
$("next").addEventListener("click", () => step(1));
document.addEventListener("visibilitychange", () => document.hidden || ask());
ask();
