import FoundationEssentials
import Testing
import TidegateCore
import TidegateTestKit

/// The connections of other programs as JSON.
@Suite struct ConnectionsDocumentTests {
    @Test("Every member is there, in the order of the description")
    func members() {
        var report = ConnectionSamples.report
        report.remotes = [report.remotes[0], report.remotes[3]]
        report.remotes[0].history = [Self.interval(age: 20, succeeded: 4, [.theirs: 2, .unknown: 1])]
        #expect(
            ConnectionsDocument(report).json.description == """
                {"schema":1,"mode":"event","reason":null,"remotes":[\
                {"address":"198.51.100.2","port":443,"target":"api","direction":"out",\
                "connections":{"connecting":0,"established":3,"closing":0},\
                "stalled":{"connecting":0,"unanswered":3,"window":0},"party":"theirs","nextTrySeconds":1.3,\
                "minRoundTripSeconds":0.018,"retransmitted":10,"sent":110,"limitedBy":null,"answeredSecondsAgo":4.2,\
                "outcomes":{"lost":2},\
                "failures":[{"outcome":"lost","party":"theirs","count":2}],\
                "history":[{"ageSeconds":20,"succeeded":4,"failures":{"theirs":2,"unknown":1}}],\
                "owners":[{"uid":1000,"cgroup":4711}]},\
                {"address":"10.0.9.9","port":null,"target":null,"direction":"out",\
                "connections":{"connecting":0,"established":0,"closing":0},\
                "stalled":{"connecting":0,"unanswered":0,"window":0},"party":null,"nextTrySeconds":null,\
                "minRoundTripSeconds":null,"retransmitted":0,"sent":0,"limitedBy":null,"answeredSecondsAgo":null,\
                "outcomes":{"refused":7},\
                "failures":[{"outcome":"refused","party":"gateway","count":1},\
                {"outcome":"refused","party":"theirs","count":4}],"history":[],"owners":[]}],"dropped":0,"unexplained":1}
                """)
    }

    private static func interval(
        age: Int, succeeded: Int, _ failures: [FaultParty: Int] = [:]
    ) -> RemoteReport.Interval {
        var interval = RemoteReport.Interval(age: .seconds(age))
        (interval.succeeded, interval.failures) = (succeeded, failures)
        return interval
    }

    @Test("What is written is read back as it was")
    func roundTrip() throws {
        var report = ConnectionSamples.report
        (report.mode, report.reason) = (.eventsOnly, "lists are refused")
        report.remotes[0].outcomes = [.noAnswer: 1, .notSent: 2]
        report.remotes[0].failures = [.noAnswer: [.upstream: 1], .notSent: [.mine: 1, .gateway: 1]]
        report.remotes[0].history = [
            Self.interval(age: 290, succeeded: 0, [.upstream: 1]), Self.interval(age: 0, succeeded: 3, [.mine: 1]),
        ]
        let text = ConnectionsDocument(report).json.description
        #expect(try JSONDecoder().decode(ConnectionsDocument.self, from: Data(text.utf8)).report == report)
    }

    @Test("Where nothing is observed, the object says so")
    func off() {
        #expect(
            ConnectionsDocument(ConnectionsReport()).json.description
                == #"{"schema":1,"mode":"off","reason":null,"remotes":[],"dropped":0,"unexplained":0}"#)
    }

    @Test("Of a newer version's words the known ones are read; what is no remote is refused")
    func unknown() throws {
        var report = ConnectionSamples.report
        report.remotes = [report.remotes[0]]
        let text = ConnectionsDocument(report).json.description
        let newer = text.replacing("\"lost\":2", with: "\"lost\":2,\"melted\":1").replacing("theirs", with: "nobody")
            .replacing("\"event\"", with: "\"telepathy\"")
        let read = try JSONDecoder().decode(ConnectionsDocument.self, from: Data(newer.utf8)).report
        #expect(read.mode == .off && read.remotes.first?.outcomes == [.lost: 2])
        #expect(read.remotes.first?.party == .unknown)
        #expect(read.remotes.first?.failures == [.lost: [.unknown: 2]])
        // Older versions do not say whose they were.
        let older = text.replacing(/"failures":\[[^\]]*\],/, with: "").replacing("\"history\":[],", with: "")
        #expect(!older.contains("failures") && !older.contains("history"))
        let known = try JSONDecoder().decode(ConnectionsDocument.self, from: Data(older.utf8)).report
        #expect(known.remotes.first?.failures.isEmpty == true && known.remotes.first?.outcomes == [.lost: 2])
        let broken = text.replacing("198.51.100.2", with: "nowhere")
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode(ConnectionsDocument.self, from: Data(broken.utf8))
        }
    }

    @Test(
        "Durations below a minute have the digits that matter",
        arguments: [
            (.nanoseconds(420_400), "0.42 ms"), (.microseconds(400), "0.4 ms"), (.microseconds(20), "0.02 ms"),
            (.microseconds(9_940), "9.9 ms"), (.microseconds(9_960), "10 ms"), (.milliseconds(80), "80 ms"),
            (.milliseconds(124), "124 ms"), (.microseconds(999_700), "1 s"), (.milliseconds(1234), "1.2 s"),
            (.milliseconds(32_800), "33 s"), (.zero, "0 s"),
        ] as [(Duration, String)])
    func short(_ duration: Duration, _ text: String) {
        #expect(duration.shortText == text)
    }

    @Test(
        "Durations have two units",
        arguments: [
            (0, "0 s"), (59, "59 s"), (60, "1 min"), (61, "1 min 1 s"), (3600, "1 h"), (3661, "1 h 1 min"),
            (90_000, "1 d 1 h"), (86_400, "1 d"), (-5, "0 s"),
        ])
    func shortText(_ seconds: Int, _ text: String) {
        #expect(Duration.seconds(seconds).shortText == text)
    }

    @Test("A share that was sent again needs segments that were sent")
    func retransmissions() {
        var report = RemoteReport(ConnectionSamples.api)
        #expect(report.retransmissionText == nil)
        (report.sentSegments, report.retransmittedSegments) = (110, 10)
        #expect(report.retransmissionText == "9.1 %")
        report.retransmittedSegments = 0
        #expect(report.retransmissionText == "0.0 %")
    }
}
