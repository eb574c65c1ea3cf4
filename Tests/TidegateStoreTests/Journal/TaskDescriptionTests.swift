internal import HTTPTypes
import Foundation
import Testing
import TidegateCore
import TidegateTestKit

@testable import TidegateSession

@Suite struct TaskDescriptionTests {
    /// Values from a seed.
    private struct RandomSource: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            self.state &+= 0x9E37_79B9_7F4A_7C15
            var mixed = self.state
            mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
            return mixed ^ (mixed >> 31)
        }

        mutating func maybe<Value>(_ value: (inout RandomSource) throws -> Value) rethrows -> Value? {
            Bool.random(using: &self) ? try value(&self) : nil
        }

        mutating func text() -> String {
            let letters = Array("aZ0 \"\\/\u{e4}\u{1F30A}=:,{}")
            return String(
                (0..<Int.random(in: 1...12, using: &self)).compactMap { _ in letters.randomElement(using: &self) })
        }

        mutating func duration() -> Duration {
            Duration(
                secondsComponent: Int64.random(in: 0...10_000_000, using: &self),
                attosecondsComponent: Int64.random(in: 1...999_999_999, using: &self) * 1_000_000_000)
        }

        mutating func bytes() -> [UInt8] {
            (0..<Int.random(in: 0...300, using: &self)).map { _ in .random(in: 0...255, using: &self) }
        }
    }

    @Test("What a task is survives its process, whatever it is", arguments: 0..<200 as Range<UInt64>)
    func roundTrip(_ seed: UInt64) throws {
        let folder = try Folder()
        var dice = RandomSource(state: seed)
        let request = try Self.request(folder, &dice)
        let description = try TaskDescription(request, key: dice.maybe { $0.text() })
        let text = try JSONEncoder().encode(description)
        let back = try JSONDecoder().decode(TaskDescription.self, from: text)
        #expect(back == description)
        let again = try TaskDescription(back.request(), key: back.key)
        #expect(again == description)
        let life = TaskLifetime(
            lived: dice.duration(), wall: WallTime(microseconds: Int64.random(in: 0...(.max), using: &dice)),
            monotonic: MonotonicTime(nanoseconds: .random(in: 0...UInt64(Int64.max), using: &dice)), boot: dice.text())
        #expect(try JSONDecoder().decode(TaskLifetime.self, from: JSONEncoder().encode(life)) == life)
    }

    private static func request(_ folder: Folder, _ dice: inout RandomSource) throws -> TaskRequest {
        let headers = try (0..<Int.random(in: 0...4, using: &dice)).map {
            try HTTPField("X-\($0)", "v\(UInt8.random(in: 0...255, using: &dice))")
        }
        let file = folder.file("body")
        let isFile = Bool.random(using: &dice)
        try Data(dice.bytes()).write(to: URL(fileURLWithPath: file))
        let body: RequestBody = isFile ? .file(file) : dice.maybe { .data($0.bytes()) } ?? .none
        var request = try TaskRequest(
            url:
                "http://user:pw@h\(UInt16.random(in: 0...9, using: &dice)).example:8080/p%20q?a=\(UInt8.random(in: 0...9, using: &dice))",
            method: ["GET", "POST", "PUT", "PATCH"].randomElement(using: &dice) ?? "GET", headers: headers, body: body)
        request.name = dice.maybe { $0.text() }
        request.destination =
            [.memory(limit: 77), .discard, .file(folder.file("out"), permissions: dice.maybe { _ in 0o640 })]
            .randomElement(using: &dice) ?? .discard
        request.connectTimeout = dice.duration()
        request.idleTimeout = dice.duration()
        request.attemptTimeout = dice.maybe { $0.duration() }
        request.deadline = dice.maybe { $0.duration() }
        request.gate = try dice.maybe { dice in
            try GatePolicy(
                require: [.routed, .unmetered, .interface("eth0")], patience: dice.maybe { $0.duration() + .seconds(1) }
            )
        }
        request.retry = try dice.maybe { dice in
            try RetryPolicy(
                attempts: .random(in: 1...9, using: &dice), maxElapsed: dice.maybe { $0.duration() + .seconds(1) })
        }
        request.priority = .random(in: (.min)...(.max), using: &dice)
        request.usesHTTP2 = .random(using: &dice)
        request.acceptsCompression = .random(using: &dice)
        request.credentials = dice.maybe { Credentials(user: $0.text(), password: $0.text()) }
        request.bytesPerSecondLimit = dice.maybe { .random(in: 1...(.max), using: &$0) }
        request.maxRedirects = .random(in: 0...100, using: &dice)
        request.isMarkedIdempotent = .random(using: &dice)
        request.expires = dice.maybe { WallTime(microseconds: .random(in: 0...(.max), using: &$0)) }
        request.sha256 = dice.maybe { ContentDigest(of: $0.bytes()) }
        request.tls = try dice.maybe { _ in
            try TLSPolicy(
                pins: ["h.example": ["sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="]], isInsecure: false)
        }
        return request
    }
}
