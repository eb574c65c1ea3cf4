import Foundation
import Glibc
import HTTPTypes
import Testing
import TidegateCore
import TidegateSessionTestKit
import TidegateTransfer

@testable import TidegateSession

/// The validator store's files: what survives, what is bounded, and what is never handed out.
@Suite(.timeLimit(.minutes(5)))
struct ValidatorStoreTests {
    private func request(_ path: String) throws -> StoredRequest {
        try #require(
            StoredRequest(
                try HTTPURL("http://x.test/\(path)"), [], .init(tls: TLSOptions(), userAgent: "t", isDecoded: false)))
    }

    private func put(_ text: String, at path: String, in store: ValidatorStore) throws {
        let head = try #require(ResponseHead(block: Array("HTTP/1.1 200 OK\r\nETag: \"\(path)\"\r\n".utf8)))
        let body = Array(text.utf8)
        let response = try #require(
            StoredResponse(
                head, to: try self.request(path),
                body: .stored(length: body.count, sha256: MessageDigest.sha256(body).hexadecimal)))
        try store.put(response, body: body)
    }

    private func text(_ path: String, in store: ValidatorStore) throws -> String? {
        try store.response(for: try self.request(path)).map {
            String(decoding: try store.body(of: $0), as: UTF8.self)
        }
    }

    private func files(_ folder: Scratch) -> [String] {
        (FileManager.default.subpaths(atPath: folder.file("s")) ?? []).filter { $0 != "store.lock" }.sorted()
    }

    @Test("The directory and its files are the owner's alone, and have one owner at a time")
    func owner() throws {
        let folder = try Scratch()
        let store = try ValidatorStore(directory: folder.file("s"))
        try self.put("a", at: "a", in: store)
        func mode(_ path: String) throws -> Int? {
            try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        }
        #expect(try mode(folder.file("s")) == 0o700)
        for name in self.files(folder) { #expect(try mode("\(folder.file("s"))/\(name)") == 0o600) }
        #expect(self.files(folder).count == 2)
        let expected = "\(folder.file("s")) is in use; give each process a directory of its own"
        let error = #expect(throws: ValidatorStoreError.self) { _ = try ValidatorStore(directory: folder.file("s")) }
        #expect(error?.description == expected)
        withExtendedLifetime(store) {}
    }

    @Test("A directory that cannot be used is named, with the reason")
    func unusable() throws {
        let folder = try Scratch()
        folder.write([], to: "file")
        try FileManager.default.createDirectory(atPath: folder.file("open"), withIntermediateDirectories: true)
        chmod(folder.file("open"), 0o777)
        for (path, problem) in [
            ("file", "is not a directory"), ("open", "can be written by others; chmod go-w it"),
            ("no/where", "cannot be used (mkdir: No such file or directory)"),
        ] {
            let error = #expect(throws: ValidatorStoreError.self) {
                _ = try ValidatorStore(directory: folder.file(path))
            }
            #expect(error?.description == "\(folder.file(path)) \(problem)")
        }
    }

    @Test("Bytes and entries are bounded, and the least recently used goes first, also after a restart")
    func bounds() throws {
        let folder = try Scratch()
        do {
            let store = try ValidatorStore(directory: folder.file("s"), maxEntries: 3)
            for path in ["a", "b", "c"] { try self.put(path, at: path, in: store) }
            #expect(try self.text("a", in: store) == "a")
            try self.put("d", at: "d", in: store)
            #expect(try self.text("b", in: store) == nil)
            #expect(try self.text("a", in: store) == "a" && store.count == 3)
            #expect(self.files(folder).count == 6)
        }
        let names = try ["a", "c", "d"].map { "\(folder.file("s"))/\(try self.request($0).key).json" }
        for (age, name) in names.enumerated() {
            let date = Date(timeIntervalSince1970: 1_000_000_000 + Double(age))
            try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: name)
        }
        let small = try ValidatorStore(directory: folder.file("s"), maxEntries: 2)
        #expect(try ["a", "c", "d"].map { try self.text($0, in: small) } == [nil, "c", "d"])
        let (limit, before) = (small.bytes, small.count)
        #expect(before == 2 && limit > 0)
        withExtendedLifetime(small) {}
    }

    @Test("The bytes of the files count, descriptions included")
    func bytes() throws {
        let folder = try Scratch()
        let store = try ValidatorStore(directory: folder.file("s"), maxBytes: 4000)
        for number in 0..<20 { try self.put(String(repeating: "x", count: 500), at: "\(number)", in: store) }
        let sizes = try self.files(folder).map {
            try FileManager.default.attributesOfItem(atPath: "\(folder.file("s"))/\($0)")[.size] as? Int ?? 0
        }
        #expect(sizes.reduce(0, +) == store.bytes && store.bytes <= 4000 && store.count >= 2)
        #expect(try self.text("19", in: store) != nil)
        #expect(try self.text("0", in: store) == nil)
    }

    @Test("A damaged body is not handed out, and its entry is dropped", arguments: ["changed", "short", "missing"])
    func damagedBody(_ how: String) async throws {
        let folder = try Scratch()
        let server = try LiveServer { request in
            request.field("if-none-match") == nil
                ? .respond(200, ["ETag: \"1\""], text: "whole")
                : LiveServerAnswer([.send(LiveServerAnswer.head(304, []))])
        }
        defer { server.stop() }
        let store = try ValidatorStore(directory: folder.file("s"))
        let fixture = try SessionFixture(.with { $0.validators = store })
        func run() async throws -> (String, Bool) {
            let task = fixture.run(try TaskRequest(url: server.url()))
            let result = await task.result()
            return (String(decoding: task.body(), as: UTF8.self), result.isRevalidated)
        }
        #expect(try await run() == ("whole", false))
        let name = try #require(self.files(folder).first { !$0.hasSuffix(".json") })
        switch how {
        case "changed": folder.write(Array("whale".utf8), to: "s/\(name)")
        case "short": folder.write(Array("who".utf8), to: "s/\(name)")
        default: folder.remove("s/\(name)")
        }
        #expect(try await run() == ("whole", false))
        #expect(try await run() == ("whole", true))
        // A body that is gone is not asked about in the first place.
        #expect(server.requests.count == (how == "missing" ? 3 : 4))
        let problems = fixture.recorder.events.compactMap { event -> String? in
            guard case .session(.storedResponseDropped(let file, let problem)) = event.payload else { return nil }
            return file.hasSuffix(name) ? problem : nil
        }
        #expect(problems == (how == "missing" ? [] : ["is damaged: its length or SHA-256 does not match"]))
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test(
        "What a crash left is dropped when the store is opened: half a description, a body alone, a file half written")
    func crash() async throws {
        let folder = try Scratch()
        do {
            let store = try ValidatorStore(directory: folder.file("s"))
            for path in ["good", "cut", "bodiless", "long"] { try self.put(path, at: path, in: store) }
        }
        func name(_ path: String, _ end: String) throws -> String {
            let key = try self.request(path).key
            return try #require(
                self.files(folder).first { $0.hasPrefix(key) && $0.hasSuffix(".json") == (end == "json") })
        }
        let (cut, bodiless, long) = (try name("cut", "json"), try name("bodiless", ""), try name("long", ""))
        folder.write(Array((folder.bytes("s/\(cut)") ?? []).prefix(50)), to: "s/\(cut)")
        folder.remove("s/\(bodiless)")
        folder.write(Array("longer".utf8), to: "s/\(long)")
        folder.write([1], to: "s/\(cut).new")
        folder.write([1], to: "s/notes.json")
        let store = try ValidatorStore(directory: folder.file("s"))
        #expect(store.count == 1)
        #expect(try self.text("good", in: store) == "good")
        // A file that is none of the store's stays.
        #expect(self.files(folder).count == 3 && self.files(folder).contains("notes.json"))
        let problems = store.takeProblems().map { "\($0.file.split(separator: "/").last ?? ""): \($0.problem)" }
        #expect(
            problems.sorted()
                == ["\(cut): is damaged", "\(bodiless): is missing", "\(long): has the wrong size"].sorted())
    }

    @Test("removeAll leaves nothing but files of others")
    func removeAll() throws {
        let folder = try Scratch()
        let store = try ValidatorStore(directory: folder.file("s"))
        folder.write([1], to: "s/notes")
        try self.put("a", at: "a", in: store)
        store.removeAll()
        #expect(store.count == 0 && store.bytes == 0)
        #expect(self.files(folder) == ["notes"])
    }
}
