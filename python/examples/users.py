"""users.py - a service with a database: Flask and sqlite3 as they are, each request on a fiber of its own.

    python -m weft.serve users:app --processes 2 --access-log -
"""
import os
import sqlite3

from flask import Flask, abort, g, request

app = Flask(__name__)
PATH = os.environ.get("USERS_DB", "users.db")


def db():
    if "db" not in g:                   # a connection for each request, whose fiber may change its thread
        g.db = sqlite3.connect(PATH, timeout=30, check_same_thread=False)
        g.db.execute("create table if not exists users (id integer primary key, name text not null)")
    return g.db


@app.teardown_appcontext
def close(error):
    if "db" in g:
        g.db.close()


@app.post("/users")
def add():
    with db():
        row = db().execute("insert into users (name) values (?)", [request.get_json()["name"]])
    return {"id": row.lastrowid}, 201


@app.get("/users/<int:number>")
def get(number):
    row = db().execute("select name from users where id = ?", [number]).fetchone()
    return {"id": number, "name": row[0]} if row else abort(404)


@app.delete("/users/<int:number>")
def delete(number):
    with db():
        return ("", 204) if db().execute("delete from users where id = ?", [number]).rowcount else abort(404)
