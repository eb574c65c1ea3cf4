import Foundation
import Testing
@testable import TidegateCore

@testable import TidegateServer

@Suite struct LadderViewTests {
    private func picture(_ state: PageState, measured: Bool = true) -> String {
        let view = LadderView(status: state.status, diagnosis: measured ? state.diagnosis : nil)
        return view.steps.map { step in
            step.readings.map { entry in
                let mark =
                    switch entry.reading.status {
                    case .ok: "+"
                    case .bad: "x"
                    case .unknown: "."
                    case .notApplicable: "-"
                    }
                return (entry.family.map { $0 == .ipv4 ? "4" : "6" } ?? "") + mark
            }.joined()
        }.joined(separator: " ")
    }

    // Kernel, interface, carrier, address, route, gateway, resolver, internet; one mark where both families agree.
    @Test(
        "Rungs are as they were measured; nothing is drawn as working because something above it does not fail",
        arguments: [
            (.healthy, "+ + + 4+6- + + + +"), (.pulledCable, "+ + x 4.6- . . . ."),
            (.hungRouter, "+ + + 4+6- + x . ."), (.deadProvider, "+ + + 4+6- + + + x"),
            (.deadResolver, "+ + + 4+6- + + x ."),
        ] as [(PageState, String)])
    func measured(_ state: PageState, _ picture: String) { #expect(self.picture(state) == picture) }

    @Test(
        "Without a measurement only what the kernel's tables say is drawn",
        arguments: [
            (.healthy, "+ + + 4+6- + . . +"), (.unchecked, "+ + + 4+6- + . . ."),
            (.pulledCable, "+ + x 4+6. . . . ."), (.deadResolver, "+ + + 4+6- + . . ."),
        ] as [(PageState, String)])
    func unmeasured(_ state: PageState, _ picture: String) { #expect(self.picture(state, measured: false) == picture) }

    @Test("The values stand under the rungs, and every mark has a text for screen readers")
    func html() {
        let html = LadderView(status: PageState.deadResolver.status, diagnosis: PageState.deadResolver.diagnosis)
            .html.markup
        #expect(
            html.contains(
                "<div class=\"reading bad\"><span class=\"mark\" role=\"img\" aria-label=\"fails\">✕</span><p>"
                    + "<span>the resolver 10.77.0.53 does not answer</span><span>2 tries, 1 s each</span></p></div>"))
        #expect(html.contains("<span>10.77.0.1 answers in 0.4 ms</span>"))
        #expect(html.contains("aria-label=\"not checked\">?</span><p><span>not tried: dns failed</span></p>"))
        #expect(html.contains("aria-label=\"does not apply\">–</span>"))
    }

    @Test("A version of IP that is not set up is no failure while another one is, also in an outage of that one")
    func absent() {
        let view = LadderView(status: PageState.pulledCable.status, diagnosis: PageState.pulledCable.diagnosis)
        let address = view.steps.first { $0.rung == .address }?.readings.last?.reading
        #expect(address == .init(status: .notApplicable, values: ["only link-local addresses"]))
        var status = PageState.pulledCable.status
        status.families[0].verdict = Verdict(level: .none, reason: .noAddress)
        let nothing = LadderView(status: status, diagnosis: PageState.pulledCable.diagnosis)
        #expect(nothing.steps.first { $0.rung == .address }?.readings.last?.reading.status == .bad)
    }

    @Test("Families with the same result are one line: a value of each, or all evidence of a failure")
    func merged() throws {
        func reading(_ status: RungReport.Status, _ values: [[String]]) throws -> [LadderView.Reading] {
            var diagnosis = try #require(PageState.healthy.diagnosis)
            diagnosis.explanation.ladders = zip([AddressFamily.ipv4, .ipv6], values).map { family, evidence in
                .init(family: family, rungs: [RungReport(rung: .gateway, status: status, evidence: evidence)])
            }
            var status = PageState.healthy.status
            status.families[1].verdict = status.families[0].verdict
            let step = LadderView(status: status, diagnosis: diagnosis).steps.first { $0.rung == .gateway }
            #expect(step?.readings.map(\.family) == [nil])
            return step?.readings.map(\.reading) ?? []
        }
        let values = [["10.77.0.1 answers", "in 0.4 ms"], ["fe80::1 answers", "in 0.5 ms"]]
        #expect(try reading(.ok, values) == [.init(status: .ok, values: ["10.77.0.1 answers", "fe80::1 answers"])])
        let silent = [["10.77.0.1 is silent", "2 tries"], ["fe80::1 is silent", "2 tries"]]
        #expect(
            try reading(.bad, silent)
                == [.init(status: .bad, values: ["10.77.0.1 is silent", "2 tries", "fe80::1 is silent"])])
    }

    @Test("The ladder stands above the tables while a rung fails")
    func place() throws {
        for (state, isFirst) in [
            (PageState.healthy, false), (.deadTarget, false), (.pulledCable, true), (.deadResolver, true),
        ] {
            let html = state.view.html
            let places = try ["<section id=\"way\"", "<section id=\"targets\""].map {
                try #require(html.range(of: $0)).lowerBound
            }
            #expect((places[0] < places[1]) == isFirst, "\(state)")
        }
    }

    @Test("The heading says when it was measured, or that it was not")
    func note() {
        let (now, status) = (PageState.now, PageState.healthy.status)
        let measured = LadderView(status: status, diagnosis: PageState.healthy.diagnosis).note(at: now).markup
        #expect(measured.hasPrefix("measured <span data-since=") && measured.hasSuffix(">4 s</span> ago"))
        #expect(
            LadderView(status: status, diagnosis: nil).note(at: now).markup
                == "from the kernel's tables; nothing was sent")
    }

    @Test("Before the first look nothing is known, and a kernel that cannot be read fails at the first rung")
    func unread() {
        let starting = ReachabilityStatus(
            global: Verdict(level: .unknown), mode: .event,
            families: [.init(family: .ipv4, verdict: Verdict(level: .unknown))], links: [], targets: [],
            health: .init())
        let marks = LadderView(status: starting, diagnosis: nil).steps.map { $0.readings[0].reading.status }
        #expect(Set(marks) == [.unknown])
        let down = LadderView(status: .unavailable(mode: .event), diagnosis: nil).steps[0].readings[0].reading
        #expect(down == .init(status: .bad, values: ["the kernel's network state cannot be read"]))
    }
}
