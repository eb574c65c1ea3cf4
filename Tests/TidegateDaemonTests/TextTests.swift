import Testing
@testable import TidegateDaemon
import TidegateCore

@Suite struct TextTests {
    @Test(
        "A duration is parsed from its written form",
        arguments: [
            ("500ms", .milliseconds(500)), ("10s", .seconds(10)), ("2m", .seconds(120)), ("1h", .seconds(3600)),
            ("7d", .seconds(604_800)), ("1.5s", .milliseconds(1500)), ("1m30s", .seconds(90)), ("0", .zero),
            ("0s", .zero), ("inf", nil),
        ] as [(String, Duration?)])
    func durations(_ text: String, _ duration: Duration?) throws {
        #expect(try DurationText(parsing: text).duration == duration)
    }

    @Test(
        "What is not a duration is quoted",
        arguments: [
            "", "10", "s", "10x", "-1s", "1s2m", "1s 2s", "1e3s", ".5s", "5.s", "infinite", "１s", "1..5s", "s1",
        ])
    func badDurations(_ text: String) {
        let message = "\"\(text)\" is not a duration (such as 500ms, 10s, 2m, 1h or inf)"
        #expect(throws: TextError(message)) { try DurationText(parsing: text) }
    }

    @Test("A duration of centuries is refused")
    func longDurations() {
        #expect(throws: TextError("\"99999999h\" is longer than 100 years; use inf for no limit")) {
            try DurationText(parsing: "99999999h")
        }
    }

    @Test(
        "A duration is shown in few arguments",
        arguments: [
            (.zero, "0s"), (.microseconds(300), "0.3ms"), (.microseconds(4), "0.004ms"), (.milliseconds(12), "12ms"),
            (.milliseconds(999), "999ms"),
            (.milliseconds(1500), "1.5s"), (.seconds(59), "59s"), (.seconds(60), "1m"), (.seconds(90), "1m30s"),
            (.seconds(3600), "1h"), (.seconds(90_061), "1d1h1m1s"), (nil, "inf"),
            (.seconds(Int64.max), "106751d23h47m17s"), (.nanoseconds(1_999_500_000), "2s"),
        ] as [(Duration?, String)])
    func shownDurations(_ duration: Duration?, _ text: String) {
        #expect(DurationText(duration).description == text)
    }

    @Test(
        "A size is read in powers of 1024",
        arguments: [("500", 500), ("64k", 65_536), ("2M", 2_097_152), ("1.5M", 1_572_864), ("64MiB", 67_108_864)])
    func sizes(_ text: String, _ bytes: Int64) throws {
        #expect(try ByteText(parsing: text).bytes == bytes)
    }

    @Test("What is not a size is quoted", arguments: ["", "M", "2X", "-1", "1 M", "0x10", "2MB/s"])
    func badSizes(_ text: String) {
        #expect(throws: TextError("\"\(text)\" is not a size (such as 500, 64k, 2M or 1G)")) {
            try ByteText(parsing: text)
        }
    }

    @Test(
        "A size is shown with the unit that fits",
        arguments: [
            (0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (67_108_864, "64.0 MiB"), (1 << 41, "2.0 TiB"),
            (.max, "8388607.9 TiB"),
        ])
    func shownSizes(_ bytes: Int64, _ text: String) {
        #expect(ByteText(bytes).description == text)
    }

    @Test(
        "What a URL hides stays hidden",
        arguments: [
            ("http://user:pw@a.example/x?token=1#f", "http://a.example/x"), ("https://a.example", "https://a.example"),
            ("http://a.example/p@q?x", "http://a.example/p@q"), ("http://u@[::1]:80/", "http://[::1]:80/"),
        ])
    func redaction(_ url: String, _ shown: String) {
        #expect(URLRedaction().text(of: url) == shown)
    }

    @Test("A requirement is one of the words, and another is quoted")
    func requirements() throws {
        #expect(try RequirementText.parse("online") == .online)
        #expect(try RequirementText.parse("interface:wwan0") == .interface("wwan0"))
        #expect(throws: TextError("\"up\" is not one of none, routed, online, unmetered, interface:NAME")) {
            try RequirementText.parse("up")
        }
    }

    @Test("A near miss is recognised, a far one is not")
    func nearestWord() {
        let candidates = ["attempts", "base", "cap"]
        #expect(NearestMatch.find("atempts", among: candidates) == "attempts")
        #expect(NearestMatch.find("zzz", among: candidates) == nil)
        #expect(NearestMatch.find("xap", among: candidates) == "cap")
    }
}
