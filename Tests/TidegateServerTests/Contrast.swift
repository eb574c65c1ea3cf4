/// Looks for text that is hard to read.
enum Contrast {
    /// An expression for a browser: every text whose contrast to its background is below 4.5, with the figure.
    static let script = """
        (() => {
          const channels = text => text.match(/[\\d.]+/g).map(Number);
          const linear = value => (value /= 255) <= .04045 ? value / 12.92 : ((value + .055) / 1.055) ** 2.4;
          const light = ([red, green, blue]) => .2126 * linear(red) + .7152 * linear(green) + .0722 * linear(blue);
          const behind = element => {
            for (let at = element; at; at = at.parentElement) {
              const colour = channels(getComputedStyle(at).backgroundColor);
              if (colour.length === 3 || colour[3] > 0) return colour;
            }
            return [255, 255, 255];
          };
          const weak = [];
          for (const element of document.querySelectorAll('main *, .bar-top *, footer *')) {
            const own = [...element.childNodes].some(node => node.nodeType === 3 && node.textContent.trim());
            if (!own || element.closest('.mark')) continue;
            const pair = [channels(getComputedStyle(element).color), behind(element)].map(light).sort((a, b) => b - a);
            const contrast = (pair[0] + .05) / (pair[1] + .05);
            if (contrast < 4.5) weak.push(element.textContent.trim().slice(0, 30) + ' ' + contrast.toFixed(2));
          }
          return weak.join('; ');
        })()
        """
}
