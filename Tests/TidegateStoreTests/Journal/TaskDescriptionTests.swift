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

    @Test("Every request survives encoding and decoding", arguments: 0..<200 as Range<UInt64>)
    func roundTrip(_ seed: UInt64) throws {
        let directory = try TestDirectory()
        var random = RandomSource(state: seed)
        let request = try Self.request(directory, &random)
        let description = try TaskDescription(request, key: random.maybe { $0.text() })
        let text = try JSONEncoder().encode(description)
        let back = try JSONDecoder().decode(TaskDescription.self, from: text)
        #expect(back == description)
        let again = try TaskDescription(back.request(), key: back.key)
        #expect(again == description)
        let life = TaskLifetime(
            lived: random.duration(), wall: WallTime(microseconds: Int64.random(in: 0...(.max), using: &random)),
            monotonic: MonotonicTime(nanoseconds: .random(in: 0...UInt64(Int64.max), using: &random)),
            boot: random.text())
        #expect(try JSONDecoder().decode(TaskLifetime.self, from: JSONEncoder().encode(life)) == life)
    }

    private static func request(_ directory: TestDirectory, _ random: inout RandomSource) throws -> TaskRequest {
        let headers = try (0..<Int.random(in: 0...4, using: &random)).map {
            try HTTPField("X-\($0)", "v\(UInt8.random(in: 0...255, using: &random))")
        }
        let file = directory.file("body")
        let isFile = Bool.random(using: &random)
        try Data(random.bytes()).write(to: URL(fileURLWithPath: file))
        let body: RequestBody = isFile ? .file(file) : random.maybe { .data($0.bytes()) } ?? .none
        var request = try TaskRequest(
            url:
                "http://user:pw@h\(UInt16.random(in: 0...9, using: &random)).example:8080/p%20q?a=\(UInt8.random(in: 0...9, using: &random))",
            method: ["GET", "POST", "PUT", "PATCH"].randomElement(using: &random) ?? "GET", headers: headers, body: body
        )
        request.options.name = random.maybe { $0.text() }
        request.destination =
            [.memory(limit: 77), .discard, .file(directory.file("out"), permissions: random.maybe { _ in 0o640 })]
            .randomElement(using: &random) ?? .discard
        request.options.connectTimeout = random.duration()
        request.options.idleTimeout = random.duration()
        request.options.attemptTimeout = random.maybe { $0.duration() }
        request.options.deadline = random.maybe { $0.duration() }
        request.options.gate = random.maybe { random in
            GatePolicy(
                require: [.routed, .unmetered, .interface("eth0")],
                patience: random.maybe { $0.duration() + .seconds(1) }
            )
        }
        request.options.retry = random.maybe { random in
            RetryPolicy(
                attempts: .random(in: 1...9, using: &random), maxElapsed: random.maybe { $0.duration() + .seconds(1) })
        }
        request.options.priority = .random(in: (.min)...(.max), using: &random)
        request.options.usesHTTP2 = .random(using: &random)
        request.options.acceptsCompression = .random(using: &random)
        request.options.credentials = random.maybe { Credentials(user: $0.text(), password: $0.text()) }
        request.options.bytesPerSecondLimit = random.maybe { .random(in: 1...(.max), using: &$0) }
        request.options.maxBodyBytes = random.maybe { .random(in: 1...(.max), using: &$0) }
        request.options.lowestBytesPerSecond = random.maybe { .random(in: 1...(.max), using: &$0) }
        request.options.slowTime = random.maybe { $0.duration() }
        request.options.maxRedirects = .random(in: 0...100, using: &random)
        request.options.isMarkedIdempotent = .random(using: &random)
        request.options.expires = random.maybe { WallTime(microseconds: .random(in: 0...(.max), using: &$0)) }
        request.options.sha256 = random.maybe { ContentDigest(of: $0.bytes()) }
        request.options.tls = random.maybe { _ in
            ServerTrustPolicy(
                pins: ["h.example": ["sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="]], isInsecure: false)
        }
        return request
    }
}
