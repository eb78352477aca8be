// Messages between the page and the session: requests with answers, and what the session says by itself.
export class Link extends EventTarget {
  constructor() {
    super();
    this.waiting = new Map();
    this.count = 0;
    this.open();
  }

  open() {
    const url = new URL("editor", document.baseURI);
    url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
    this.socket = new WebSocket(url);
    this.socket.onmessage = ({ data }) => this.take(JSON.parse(data));
    this.socket.onclose = () => {
      for (const { reject } of this.waiting.values()) reject(new Error("the session ended"));
      this.waiting.clear();
      this.dispatchEvent(new Event("closed"));
    };
  }

  take(message) {
    if ("id" in message) {
      const waiting = this.waiting.get(message.id);
      this.waiting.delete(message.id);
      if (!waiting) return;
      if ("error" in message) waiting.reject(new Error(message.error));
      else waiting.resolve(message.answer);
      return;
    }
    for (const [name, detail] of Object.entries(message)) this.dispatchEvent(new CustomEvent(name, { detail }));
  }

  ask(what, given = {}) {
    const id = ++this.count;
    return new Promise((resolve, reject) => {
      if (this.socket.readyState !== WebSocket.OPEN) return reject(new Error("the session ended"));
      this.waiting.set(id, { resolve, reject });
      this.socket.send(JSON.stringify({ do: what, id, ...given }));
    });
  }

  on(name, action) {
    this.addEventListener(name, (event) => action(event.detail));
  }
}
