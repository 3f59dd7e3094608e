// page.hpp - the page that a browser gets: a field for what to say, and what was said.
#pragma once

inline constexpr const char* page = R"html(<!doctype html>
<meta charset="utf-8">
<title>chat</title>
<style>
  body { font: 16px sans-serif; max-width: 40em; margin: 2em auto }
  #said { min-height: 20em; border: 1px solid #ccc; padding: 1em; white-space: pre-wrap; overflow-wrap: anywhere }
  input { width: 100%; box-sizing: border-box; font: inherit; padding: .5em }
</style>
<div id="said"></div>
<form><input autofocus placeholder="say something" autocomplete="off"></form>
<script>
  const said = document.querySelector("#said"), field = document.querySelector("input");
  const show = line => said.append(line + "\n");  // as text, never as HTML
  const name = new URLSearchParams(location.search).get("name") || prompt("Your name?") || "somebody";
  const socket = new WebSocket(location.origin.replace("http", "ws") + "/chat/" + encodeURIComponent(name));
  socket.onmessage = event => show(event.data);
  socket.onclose = event => show("(closed: " + event.code + ")");
  document.querySelector("form").onsubmit = event => {
    event.preventDefault();
    if (field.value) socket.send(field.value);
    field.value = "";
  };
</script>
)html";
