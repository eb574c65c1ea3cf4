import Foundation
import Testing
import TidegateCore
import TidegateTestKit

@testable import TidegateServer

@Suite(.serialized, .enabled(if: Browser.isInstalled, "chromium and chromedriver are not installed"))
struct BrowserTests {
    private static let isLive = "document.documentElement.className === 'live'"
    private static let level = "document.querySelector('h1').textContent"

    private static let isUnplugged = "\(Self.level).startsWith('This host: the link has no carrier.')"

    private func withPage(
        _ fixture: Fixture, setUp: (Browser) async throws -> Void = { _ in },
        _ body: (Browser, String) async throws -> Void
    ) async throws {
        try await self.withBrowser { browser in
            try await setUp(browser)
            try await fixture.serving { (port: Int) in
                let url = "http://127.0.0.1:\(port)/"
                try await browser.go(url)
                try await body(browser, url)
            }
        }
    }

    private func withBrowser(_ body: (Browser) async throws -> Void) async throws {
        let browser = try await Browser.open()
        do {
            try await body(browser)
        } catch {
            await browser.close()
            throw error
        }
        await browser.close()
    }

    @Test(
        "A lost link and a running download change the page within a second; nothing is loaded from elsewhere",
        .enabled(if: QuietMachine.isAvailable, "needs a quiet machine"))
    func live() async throws {
        let fixture = Fixture()
        let task = TaskInfo.example()
        fixture.view.change { $0.tasks = [task] }
        try await self.withPage(fixture) { browser, url async throws in
            #expect(try await browser.shows(Self.isLive))
            #expect(try await browser.text(Self.level).hasPrefix("There is a route;"))
            _ = try await browser.text("window.kept = document.querySelector('nav')")
            fixture.view.change { state in
                state.status.global = EveryEvent.unplugged
                state.status.families[0].verdict = EveryEvent.unplugged
            }
            fixture.bus.publish(.path(PathEvent(scope: .global, from: EveryEvent.routed, to: EveryEvent.unplugged)))
            #expect(try await browser.shows(Self.isUnplugged, within: .seconds(1)))
            #expect(
                try await browser.text("document.querySelector('.ladder .bad span + p span').textContent")
                    == "the link has no carrier")
            #expect(try await browser.text("document.title").hasPrefix("This host: the link has no carrier."))
            let colours = "['h1', 'body'].map(name => getComputedStyle(document.querySelector(name)).color)"
            #expect(try await browser.text("new Set(\(colours)).size") == "1", "bad news are not pale")
            #expect(
                try await browser.text("document.querySelector('#news').textContent.includes('No network')") == "true")
            let progress = TransferProgress(receivedWire: 750, expected: 1000, attempt: 1)
            fixture.bus.publish(
                .task(TaskEvent(id: task.id, taskKind: .download, kind: .progress(progress, delta: .init()))))
            #expect(try await browser.shows("document.querySelector('progress').value === 75", within: .seconds(1)))
            #expect(
                try await browser.text("document.querySelector('[data-task] .bytes').textContent")
                    .hasPrefix("750 B of 1000 B"))
            #expect(try await browser.text("window.kept === document.querySelector('nav')") == "true", "no reload")
            // The browser's own first page comes from itself.
            let urls = try await browser.requestedURLs().filter { !$0.hasPrefix("data:") && !$0.hasPrefix("chrome:") }
            #expect(Set(urls) == [url, url + "api/v1/events"])
            let console = try await browser.read(.console)
            #expect(console == [])
        }
    }

    @Test("Without its server the page says so, reconnects on its own, and shows what happened meanwhile")
    func reconnect() async throws {
        try await self.withBrowser { browser in
            let address = ListenAddress(host: "127.0.0.1", port: try FreePort.find())
            var first = Fixture()
            first.configuration.listen = [address]
            try await first.serving { (port: Int) in
                try await browser.go("http://127.0.0.1:\(port)/")
                #expect(try await browser.shows(Self.isLive))
            }
            #expect(try await browser.shows("document.documentElement.className === 'stale'"))
            #expect(
                try await browser.text("document.querySelector('#live').textContent").hasPrefix("Disconnected since "))
            #expect(try await browser.text(Self.level).hasPrefix("There is a route;"), "the last known state stays")
            var second = Fixture()
            second.configuration.listen = [address]
            second.view.change { $0.status.global = EveryEvent.unplugged }
            try await second.serving { (_: Int) async throws in
                #expect(try await browser.shows(Self.isLive, within: .seconds(30)))
                #expect(try await browser.shows(Self.isUnplugged))
            }
        }
    }

    @Test("An upload's row follows what is sent, then what comes back")
    func upload() async throws {
        let fixture = Fixture()
        var task = TaskInfo.example()
        (task.kind, task.progress) = (.upload, TransferProgress(sent: 400, expectedSent: 1000, attempt: 1))
        fixture.view.change { [task] in $0.tasks = [task] }
        try await self.withPage(fixture) { browser, _ async throws in
            let bytes = "document.querySelector('[data-task] .bytes').textContent"
            #expect(try await browser.shows(Self.isLive))
            #expect(try await browser.text(bytes) == "400 B of 1000 B sent")
            func publish(_ progress: TransferProgress) {
                fixture.view.change { $0.tasks[0].progress = progress }
                fixture.bus.publish(
                    .task(TaskEvent(id: task.id, taskKind: .upload, kind: .progress(progress, delta: .init()))))
            }
            publish(TransferProgress(sent: 750, expectedSent: 1000, attempt: 1))
            #expect(try await browser.shows("document.querySelector('progress').value === 75"))
            #expect(try await browser.shows("\(bytes).startsWith('750 B of 1000 B sent')"))
            publish(TransferProgress(receivedWire: 30, sent: 1000, expectedSent: 1000, attempt: 1))
            #expect(try await browser.shows("\(bytes) === '30 B' && !document.querySelector('progress')"))
            #expect(try await browser.read(.console) == [])
        }
    }

    @Test("Something turns in the header once tasks have run for a second, until 170 ms after the last one")
    func busy() async throws {
        let fixture = Fixture()
        let task = TaskInfo.example()
        func change(_ tasks: [TaskInfo], _ kind: TaskEvent.Kind) {
            fixture.view.change { $0.tasks = tasks }
            fixture.bus.publish(.task(TaskEvent(id: task.id, taskKind: .download, kind: kind)))
        }
        try await self.withPage(fixture) { browser, _ async throws in
            let visibility = "getComputedStyle(document.querySelector('#busy')).visibility"
            #expect(try await browser.shows(Self.isLive))
            #expect(try await browser.text(visibility) == "hidden")
            // What the page does later is written down.
            _ = try await browser.text(
                """
                (window.delays = [], window.later = window.setTimeout,
                window.setTimeout = (work, delay) => { delays.push(delay); return later(work, delay); })
                """)
            change([task], .attemptStarted(number: 1))
            #expect(try await browser.shows("delays.includes(1000)"))
            #expect(try await browser.text("delays.includes(170)") == "false")
            #expect(try await browser.shows("\(visibility) === 'visible'"))
            change([], .released(.drain, after: .zero))
            #expect(try await browser.shows("delays.includes(170) && \(visibility) === 'hidden'"))
            #expect(try await browser.text("delays.filter(delay => delay === 1000).length") == "1")
            #expect(try await browser.read(.console) == [])
        }
    }

    @Test("Without scripts the page shows the same")
    func withoutScripts() async throws {
        let fixture = Fixture()
        fixture.view.change { $0.tasks = [.example()] }
        try await self.withPage(
            fixture, setUp: { try await $0.command("Emulation.setScriptExecutionDisabled", #"{"value":true}"#) }
        ) { browser, _ async throws in
            #expect(try await browser.text(Self.level).hasPrefix("There is a route;"))
            #expect(try await browser.text("document.querySelector('#live').textContent").hasPrefix("As of 2026-"))
            #expect(try await browser.text("document.querySelector('progress').value") == "40")
            #expect(try await browser.text("document.querySelectorAll('.ladder li').length") == "8")
            fixture.view.change { $0.status.global = EveryEvent.unplugged }
            #expect(try await browser.shows(Self.isUnplugged, within: .seconds(15)), "it comes again")
        }
    }

    @Test("Nothing overflows, from a phone on", arguments: [360, 800, 1280])
    func width(_ width: Int) async throws {
        let fixture = Fixture()
        let long = String(repeating: "x", count: 200)
        fixture.view.change { state in
            state.tasks = [.example(), .example(name: long, url: "http://10.0.0.1/\(long)")]
            state.status.links[0].addresses = ["2001:db8:1111:2222:3333:4444:5555:6666", "10.0.0.2"].compactMap {
                IPAddress($0).flatMap { IPPrefix($0, length: 24) }
            }
        }
        var connections = ConnectionSamples.report
        connections.remotes[1].remote.address = IPAddress(ipv6: 0x2001_0db8_1111_2222, 0x3333_4444_5555_6666)
        connections.remotes[1].target = "a-target-with-a-name-of-forty-characters"
        connections.remotes[3].failures = [.unreachable: [.upstream: 1000], .noAnswer: [.unknown: 1000]]
        connections.remotes[3].outcomes = [.unreachable: 1000, .noAnswer: 1000]
        fixture.view.change { [connections] in $0.connections = ScriptedObservation(connections) }
        for payload in EveryEvent.payloads { fixture.bus.publish(payload) }
        fixture.bus.publish(.netlink(.lost(long)))
        try await self.withPage(
            fixture,
            setUp: { browser in
                let metrics = #"{"width":\#(width),"height":800,"deviceScaleFactor":1,"mobile":false}"#
                try await browser.command("Emulation.setDeviceMetricsOverride", metrics)
            }
        ) { browser, _ async throws in
            #expect(try await browser.text("innerWidth") == "\(width)")
            #expect(try await browser.text("document.documentElement.scrollWidth") == "\(width)")
        }
    }

    @Test(
        "Dark and light follow the system, and text contrasts with its background", arguments: ["dark", "light"])
    func colours(_ scheme: String) async throws {
        let fixture = Fixture()
        fixture.view.change { $0.tasks = [.example()] }
        for payload in EveryEvent.payloads { fixture.bus.publish(payload) }
        try await self.withPage(
            fixture,
            setUp: { browser in
                let media = #"{"features":[{"name":"prefers-color-scheme","value":"\#(scheme)"}]}"#
                try await browser.command("Emulation.setEmulatedMedia", media)
            }
        ) { browser, _ async throws in
            let paper = try await browser.text("getComputedStyle(document.body).backgroundColor")
            #expect(paper == (scheme == "dark" ? "rgb(12, 18, 24)" : "rgb(238, 242, 245)"))
            #expect(try await browser.text(Contrast.script) == "", "a contrast below 4.5 (WCAG 2.2, 1.4.3)")
        }
    }

    @Test("The keyboard reaches everything, in the order of the page, with a visible focus")
    func keyboard() async throws {
        try await self.withPage(Fixture()) { browser, _ async throws in
            #expect(try await browser.shows(Self.isLive))
            var places: [String] = []
            for _ in 0..<10 {
                try await browser.pressTabulator()
                places.append(try await browser.text("document.activeElement.textContent"))
                #expect(try await browser.text("getComputedStyle(document.activeElement).outlineStyle") == "solid")
            }
            #expect(
                places == [
                    "Targets", "Ladder", "Timeline", "Tasks", "Events", "Interfaces", "Metrics", "Status", "Tasks",
                    "Event stream",
                ])
        }
    }
}
