import Testing
@testable import TidegateCore
import TidegateTestKit

@Suite struct JSONTests {
    @Test("Members keep their order and strings are escaped")
    func text() {
        let value: JSONValue = [
            "schema": 1, "b": ["x", .null, true, .number(0.25), .number(3), .number(.nan)],
            "a": "quote \" slash \\ line \n bell \u{7} é",
        ]
        #expect(
            value.description
                == #"{"schema":1,"b":["x",null,true,0.25,3,null],"a":"quote \" slash \\ line \n bell \u0007 é"}"#)
    }

    @Test("The status object is the one that scripts rely on")
    func status() throws {
        #expect(JSONTests.sample.json.description == JSONTests.contract)
    }

    @Test("A transfer's object names every member of the contract")
    func transfer() throws {
        let id = try #require(TaskID("018bcfe5-6800-7000-8000-000000000001"))
        let result = TaskResult(
            id: id, kind: .download, method: "GET", url: "http://h/f", outcome: .failure, status: 503, bytes: 5,
            wireBytes: 6, refetchedBytes: 0, attempts: 2, held: [.path: .milliseconds(1200)],
            duration: .milliseconds(2500), phases: PhaseDurations(connect: .microseconds(1500)),
            failure: .httpStatus, attribution: Attribution(party: .theirs))
        #expect(
            result.json.description == """
                {"schema":1,"url":"http://h/f","taskId":"018bcfe5-6800-7000-8000-000000000001","outcome":"failure",\
                "status":503,"file":null,"bytes":5,"wireBytes":6,"sentBytes":0,"refetchedBytes":0,"attempts":2,\
                "heldSeconds":{"path":1.2},"durationSeconds":2.5,"phaseSeconds":{"connect":0.0015},\
                "reason":"httpStatus","party":"theirs","requireUnmet":null,"sha256":null,\
                "notModified":false}
                """)
    }

    static let sample: ReachabilityStatus = {
        let path = NetworkPath(
            interface: "eth0", index: 2, gateway: IPAddress("10.0.0.1"), source: IPAddress("10.0.0.2"), table: 254)
        let routed = Verdict(level: .routed, path: path)
        let six = Verdict(level: .none, reason: .noAddress)
        let remote = IPAddress(ipv4: 0xC633_6402)
        let link = Link(
            name: "eth0", index: 2, kind: .ethernet, isAdminUp: true, hasCarrier: true, operState: .up, reason: nil,
            addresses: [IPPrefix(IPAddress(ipv4: 0x0A00_0002), length: 24)].compactMap { $0 })
        return ReachabilityStatus(
            global: routed, mode: .once,
            families: [.init(family: .ipv4, verdict: routed), .init(family: .ipv6, verdict: six)], links: [link],
            targets: [
                TargetVerdict(
                    target: Target(address: remote, port: 443), verdict: routed,
                    addresses: [AddressVerdict(address: remote, verdict: routed)])
            ], health: .init(resyncs: 1, isConsistent: true))
    }()

    static let contract = """
        {"schema":1,"level":"routed","reason":null,"since":null,"mode":"once",\
        "families":{"ipv4":{"level":"routed","reason":null,"interface":"eth0","gateway":"10.0.0.1",\
        "source":"10.0.0.2","table":254,"metered":"no","meteredGuessed":true,"notes":[]},\
        "ipv6":{"level":"none","reason":"noAddress","interface":null,"gateway":null,"source":null,"table":null,\
        "metered":"unknown","meteredGuessed":false,"notes":[]}},\
        "links":[{"name":"eth0","index":2,"type":"ethernet","admin":"up","carrier":true,"operstate":"up",\
        "usable":true,"reason":null,"master":null,"addresses":["10.0.0.2/24"]}],\
        "targets":[{"target":"198.51.100.2:443","level":"routed","reason":null,"interface":"eth0",\
        "gateway":"10.0.0.1","source":"10.0.0.2","table":254,"notes":[],\
        "addresses":[{"address":"198.51.100.2","family":"ipv4","level":"routed","reason":null,"interface":"eth0",\
        "gateway":"10.0.0.1","source":"10.0.0.2","table":254}]}],\
        "monitor":{"overruns":0,"resyncs":1,"interruptedDumps":0,"consistent":true}}
        """
}
