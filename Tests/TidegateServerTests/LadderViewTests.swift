import Foundation
import Testing
import TidegateCore

@testable import TidegateServer

@Suite struct LadderViewTests {
    private func ladder(_ level: ReachabilityLevel, _ reason: UnreachableReason?) -> String {
        LadderView(family: .ipv4, verdict: Verdict(level: level, reason: reason)).statuses.map { entry in
            switch entry.status {
            case .ok: "+"
            case .bad: "x"
            case .unknown: "."
            }
        }.joined()
    }

    // monitor interface carrier address route gateway dns internet
    @Test(
        "The reason's rung fails; those below it hold, those above it are not checked",
        arguments: [
            (.unknown, .monitorDown, "x......."), (.unknown, nil, "........"), (.none, .noInterface, "+x......"),
            (.none, .adminDown, "+x......"), (.none, .noCarrier, "++x....."), (.none, .noAddress, "+++x...."),
            (.local, .noRoute, "++++x..."), (.local, nil, "++++...."), (.none, .prohibited, "++++x..."),
            (.limited, .gatewaySilent, "+++++x.."), (.limited, .resolverTimeout, "++++++x."),
            (.limited, .limited, "+++++++x"), (.portal, .portal, "+++++++x"), (.limited, .refused, "+++++++x"),
            (.routed, nil, "+++++..."), (.online, nil, "++++++++"),
        ] as [(ReachabilityLevel, UnreachableReason?, String)])
    func statuses(_ level: ReachabilityLevel, _ reason: UnreachableReason?, _ picture: String) {
        #expect(self.ladder(level, reason) == picture)
    }

    @Test("The reason stands beside the failing rung, and every mark has a text for screen readers")
    func html() {
        let html = LadderView(family: .ipv6, verdict: Verdict(level: .none, reason: .noCarrier)).html
        #expect(html.contains("<h3>IPv6 <span class=\"chip none\">none</span>"))
        #expect(
            html.contains(
                "<li class=\"bad\"><span class=\"mark\" role=\"img\" aria-label=\"fails\">✕</span>"
                    + "<span>carrier<em>the link has no carrier</em></span></li>"))
        #expect(html.components(separatedBy: "aria-label=\"holds\"").count == 3)
    }
}
