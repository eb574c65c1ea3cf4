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

    private static func size(_ width: Int, _ height: Int = 800) -> (Browser) async throws -> Void {
        let metrics = #"{"width":\#(width),"height":\#(height),"deviceScaleFactor":1,"mobile":false}"#
        return { try await $0.command("Emulation.setDeviceMetricsOverride", metrics) }
    }

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
        try await self.withPage(fixture, setUp: Self.size(width)) { browser, _ async throws in
            #expect(try await browser.text("innerWidth") == "\(width)")
            #expect(try await browser.text("document.documentElement.scrollWidth") == "\(width)")
        }
    }

    /// The addresses that are not on one line each.
    private static let brokenAddresses = """
        (() => {
          const broken = [], texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
          while (texts.nextNode()) {
            if (texts.currentNode.parentElement.closest('script, style')) continue;
            for (const match of texts.currentNode.data.matchAll(/\\[?[0-9a-f]+([.:][0-9a-f]*){3,}\\]?(:[0-9]+)?/g)) {
              const range = document.createRange();
              range.setStart(texts.currentNode, match.index);
              range.setEnd(texts.currentNode, match.index + match[0].length);
              if (new Set([...range.getClientRects()].map(box => box.top)).size > 1) broken.push(match[0]);
            }
          }
          return broken.join(' ');
        })()
        """

    @Test(
        "A page of 95 rows fits a few screens, does not scroll sideways and breaks no address, folded and unfolded",
        arguments: [(1280, 2800), (800, 3400), (360, 5000)])
    func crowd(_ width: Int, _ height: Int) async throws {
        let fixture = PageCrowd.fixture(of: .deadTarget)
        fixture.view.change { state in
            let long = (0..<8).map { "2001:db8:1111:2222:3333:4444:5555:\(6000 + $0)" }
            state.status.links[1].addresses += long.compactMap { IPAddress($0).flatMap { IPPrefix($0, length: 64) } }
        }
        try await self.withPage(fixture, setUp: Self.size(width)) { browser, _ async throws in
            #expect(try await browser.shows(Self.isLive))
            let size = "document.documentElement.scroll"
            let total = try #require(Int(try await browser.text("\(size)Height")))
            #expect(total <= height)
            #expect(
                try await browser.text("[...document.querySelectorAll('details')].some(fold => fold.open)") == "false")
            for _ in 0..<2 {
                #expect(try await browser.text("\(size)Width") == "\(width)")
                #expect(try await browser.text(Self.brokenAddresses) == "")
                _ = try await browser.text("document.querySelectorAll('summary').forEach(label => label.click())")
            }
            let heights = "[...document.querySelectorAll('.compact tbody tr')].map(row => row.offsetHeight)"
            #expect(try await browser.text("\(heights).length") == "86")
            let tallest = try #require(Int(try await browser.text("Math.max(...\(heights))")))
            #expect(tallest < 36, "a row has one line")
        }
    }

    @Test(
        "The first screen of a small phone has the cause of an outage, its party and what to do; the ladder is next",
        arguments: [
            (.pulledCable, "This host: ", "Plug in its cable"), (.hungRouter, "Your router", "Restart the router"),
            (.deadProvider, "Your provider", "Ask your provider"),
            (.deadResolver, "The resolver", "Name another one"),
        ] as [(PageState, String, String)])
    func firstScreen(_ state: PageState, _ party: String, _ advice: String) async throws {
        try await self.withPage(PageCrowd.fixture(of: state), setUp: Self.size(360, 640)) { browser, _ async throws in
            #expect(try await browser.shows(Self.isLive))
            #expect(try await browser.text(Self.level).hasPrefix(party))
            #expect(try await browser.text("document.querySelector('.hero p').textContent").contains(advice))
            #expect(
                try await browser.text("document.querySelector('.hero p').getBoundingClientRect().bottom <= 640")
                    == "true")
            #expect(
                try await browser.text("[...document.querySelectorAll('main > [id]')].map(part => part.id).join(' ')")
                    == "level way targets probes time work news links")
        }
    }

    @Test("The filter and what is unfolded outlive live changes; the ladder goes up and down with an outage")
    func filter() async throws {
        let fixture = PageCrowd.fixture(of: .deadTarget)
        try await self.withPage(fixture) { browser, _ async throws in
            #expect(try await browser.shows(Self.isLive))
            let names =
                "[...document.querySelectorAll('.rows tbody tr')].filter(row => row.checkVisibility())"
                + ".map(row => row.querySelector('b').textContent).join(' ')"
            let failing = "service-09 service-19 service-29 service-39 probe-09 probe-19 probe-29 feed-19 feed-09"
            func type(_ text: String) async throws {
                _ = try await browser.text(
                    "(box => { box.value = '\(text)'; box.dispatchEvent(new Event('input')); })(document.querySelector('input'))"
                )
            }
            #expect(try await browser.text(names) == failing)
            try await type("E-1")
            let ones = (10..<20).map { "-\($0)" }
            func found(_ noun: String) -> [String] { ones.map { noun + $0 } }
            let wanted = Set(found("service") + found("probe"))
            func shown() async throws -> Set<String> {
                Set(try await browser.text(names).split(separator: " ").map(String.init))
            }
            #expect(try await shown() == wanted)
            #expect(try await browser.text("document.querySelector('output').textContent") == "20 of 95 rows")
            // Every part is drawn anew.
            fixture.view.change { state in
                state.status.targets.reverse()
                state.scheduledProbes.reverse()
                state.diagnosis = PageState.deadProvider.diagnosis
            }
            fixture.bus.publish(.netlink(.lost("test")))
            #expect(try await browser.shows("document.querySelector('#way ~ search ~ #targets') !== null"))
            #expect(try await browser.text(names).hasPrefix("service-19 service-18"))
            #expect(try await shown() == wanted)
            try await type("")
            _ = try await browser.text("document.querySelector('#probes summary').click()")
            fixture.view.change { state in
                state.scheduledProbes.reverse()
                state.diagnosis = PageState.healthy.diagnosis
            }
            fixture.bus.publish(.netlink(.lost("test")))
            #expect(try await browser.shows("document.querySelector('#targets ~ #way') !== null"))
            let unfolded =
                "[...document.querySelectorAll('details')].filter(fold => fold.open).map(fold => fold.id).join()"
            #expect(try await browser.text(unfolded) == "probes-rest")
            #expect(try await browser.read(.console) == [])
        }
    }

    @Test("A section that a reload of the configuration adds or removes comes and goes without a reload of the page")
    func sections() async throws {
        let fixture = PageCrowd.fixture(of: .healthy)
        let probes = fixture.view.scheduledProbes
        fixture.view.change { $0.scheduledProbes = [] }
        try await self.withPage(fixture) { browser, _ async throws in
            #expect(try await browser.shows(Self.isLive))
            let sections =
                "[...document.querySelectorAll('main > section, nav a')].map(part => part.id || part.hash).join(' ')"
            let links = "#targets #way #time #work #news #links"
            let all = "targets way time work news links"
            #expect(try await browser.text(sections) == "\(links) \(all)")
            for _ in 0..<2 {
                fixture.view.change { $0.scheduledProbes = probes }
                fixture.bus.publish(.daemon(.configurationLoaded(isGood: true)))
                let more =
                    links.replacing("#way", with: "#probes #way") + " " + all.replacing("way", with: "probes way")
                #expect(try await browser.shows("\(sections) === '\(more)'"))
                fixture.view.change { $0.scheduledProbes = [] }
                fixture.bus.publish(.daemon(.configurationLoaded(isGood: true)))
                #expect(try await browser.shows("\(sections) === '\(links) \(all)'"))
            }
        }
    }

    @Test("Without scripts there is no filter, and what is folded away can be unfolded")
    func foldsWithoutScripts() async throws {
        try await self.withPage(
            PageCrowd.fixture(of: .deadTarget),
            setUp: { try await $0.command("Emulation.setScriptExecutionDisabled", #"{"value":true}"#) }
        ) { browser, _ async throws in
            #expect(try await browser.text("document.querySelector('search').checkVisibility()") == "false")
            let row =
                "[...document.querySelectorAll('#targets tr')].find(row => row.textContent.includes('service-00'))"
            #expect(try await browser.text("\(row).checkVisibility()") == "false")
            _ = try await browser.text("document.querySelector('#targets summary').click()")
            #expect(try await browser.text("\(row).checkVisibility()") == "true")
        }
    }

    @Test(
        "Dark and light follow the system, and text contrasts with its background", arguments: ["dark", "light"])
    func colours(_ scheme: String) async throws {
        let fixture = PageCrowd.fixture(of: .deadTarget)
        fixture.view.change { $0.tasks.append(.example()) }
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
            for _ in 0..<13 {
                try await browser.pressTabulator()
                places.append(try await browser.text("document.activeElement.textContent"))
                #expect(try await browser.text("getComputedStyle(document.activeElement).outlineStyle") == "solid")
            }
            #expect(
                places == [
                    "Targets", "Ladder", "Timeline", "Tasks", "Events", "Interfaces", "hour", "day", "week", "Metrics",
                    "Status", "Tasks", "Event stream",
                ])
        }
    }
}
