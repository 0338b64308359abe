"""Makes pages of Doxygen's XML for site.py: one for each public header, one for each area, and the list of areas.

A page has what its header declares, in the header's order: classes, then functions and other names. As in a header, a
comment is also that of the names without one that follow it. Instead of a layer's holder (nn::Conv2d) and its module
(nn::Conv2dImpl) there is one class, which has the name of the holder and the members of the module.
"""
import collections
import glob
import html
import itertools
import os
import posixpath
import re
import xml.etree.ElementTree as ElementTree

# Title, folders, page of the guide. A header is of the area with the longest folder that it is in.
AREAS = [
    ("Tensors", ["core"], "training"),
    ("Operations", ["autograd/ops"], "training"),
    ("Autograd", ["autograd"], "howto"),
    ("Layers", ["nn/layers", "nn/options", "nn/functional"], "training"),
    ("Modules", ["nn"], "training"),
    ("Optimizers", ["nn/optim"], "training"),
    ("Files", ["nn/files"], "training"),
    ("Data", ["datasets"], "data"),
    ("Models", ["models"], "models"),
    ("Devices and processes", ["parallel"], "distributed"),
    ("ONNX", ["onnx"], "onnx"),
    ("Profiler", ["core/profile"], "profiling"),
    ("Testing", ["testing.h"], "howto"),
]
INTRODUCTIONS = {"Layers": "layers"}  # pages of docs/reference
# Installed because other headers include them. Programs name nothing in them.
INTERNAL = re.compile(r"""
    core/(backend|formulas|capture)/ | autograd/ops/detail/ | parallel/shared/
  | core/base/(atomic_file|atomic_folder|cache_folder|checked_sizes|clock|cpp20|demangle|descriptor|exclusive|fork|
      host_device|library_folder|literal|number_text|sanitizers|small_vector|suggest|type_list)\.h
  | core/(conv_epilogue|dims|dlpack_structs|element_types|fusion_counts|line_split|loop_plan|max_dims|pixel_scale|
      reduce_dims|tensor_impl|deprecated_type)\.h
  | core/memory/(kept_weight|large_blocks|released_memory|small_blocks|storage_owner)\.h
  | core/threads/(fresh_stack|of_thread|spin|thread_state|usable_cores)\.h
  | autograd/(buffer_updates|cast_group|inherited_autocast|inplace|ivalue|meta|record|tasks|urgent_node)\.h
  | nn/(buffer_updates|call|child_observer|enum_names|flat|printed_names|quantizable|state_match|
      step_signature|step_state)\.h
  | nn/layers/(fused_activation|norm_members|print|replace_parameters)\.h
  | nn/files/(byte_source|crc32|joint_memory|json_reader|npy_header|prefix|safetensors_\w+)\.h
  | datasets/(batch_part|gz_input|idx|image_data|job_queue|order|sampler_state|loader|sources)\.h
  | datasets/(text/text_pieces|vision/random_stream)\.h
  | parallel/distributed/(call_record|comm_thread|diagnosis|engine_loader|group_state|interface|reduce_loops|
      store_state|watchdog)\.h
  | parallel/distributed_data_parallel/reducer_errors\.h
  | parallel/parameter_server/(gradient_reduction|local_reduction|server_core|server_replica)\.h
  | parallel/shards/(part_exchange|shard_buffers|tree_\w+)\.h
  | parallel/sharded/flat_slices\.h | parallel/fully_sharded/(checkpoint_parts|flat_part|unit_schedule)\.h
""", re.X)
TAGS = {"computeroutput": "code", "bold": "b", "emphasis": "i", "itemizedlist": "ul", "orderedlist": "ol",
        "listitem": "li", "blockquote": "blockquote", "row": "tr", "table": "table", "sect1": "section"}
SIGNS = {"zwj": "", "ndash": "–", "mdash": "—", "sp": " ", "linebreak": "<br>"}
WIDTH = 90  # of a declaration in one line


def escape(text):
    return html.escape(text or "", quote=False)


def tidy(text):
    """C++ as HTML, with this project's blanks instead of Doxygen's."""
    text = re.sub(r"< | >", lambda found: found[0].strip(), text or "")
    text = re.sub(r" ([&*]+)", r"\1", text)
    return escape(re.sub(r"^\s*= ?", " = ", text))


def text_of(element):
    return "" if element is None else "".join(element.itertext()).strip()


def name_of(element):
    return text_of(element.find("name"))


def short(name):
    return name.removeprefix("tandem").removeprefix("::")


def anchor(name):
    return re.sub(r"[^\w.]", "", name.replace("::", "."))


def documented(element):
    return any(text_of(element.find(name)) for name in ("briefdescription", "detaileddescription"))


def line_of(element):
    return int(element.find("location").get("line"))


def page_of(header):
    return "reference/" + header.removesuffix(".h")


def area_of(header):
    def length(folder):
        return len(folder) if (header + "/").startswith(folder + "/") else -1
    return max(AREAS, key=lambda area: max(map(length, area[1])))


def area_page(area):
    return "reference/areas/" + area[0].lower().replace(" ", "-")


def fold(before, parts, after):
    """A list in one line or, where that is too long, each part in its own line. All are HTML."""
    line = f"{before}{', '.join(parts)}{after}"
    if len(html.unescape(re.sub("<[^>]*>", "", line.split("\n")[-1]))) <= WIDTH or len(parts) < 2:
        return line
    return before + ",".join("\n    " + part for part in parts) + after


def first_comment(lines):
    """The comment at the start of a header, as HTML: indented lines are code, blank ones end a paragraph."""
    comment = itertools.takewhile(lambda line: line.startswith("//"), lines)
    text = "".join(line[2:].removeprefix(" ") + "\n" for line in comment)
    parts = []
    for part in re.split(r"^\n|((?:^  .*\n)+)", text, flags=re.M):
        if part and part.startswith("  "):
            parts.append(f"<pre><code>{escape(re.sub('^  ', '', part.rstrip(), flags=re.M))}</code></pre>")
        elif part and part.strip():
            parts.append("<p>" + re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(part.strip())) + "</p>")
    return "".join(parts)


class Reference:
    """All pages: {path without .md: text}."""

    def __init__(self, xml, root):
        self.root, self.page, self.lines = root, "", []
        files = sorted(glob.glob(xml + "/*.xml"))
        compounds = [c for path in files for c in ElementTree.parse(path).getroot().findall("compounddef")]
        self.named = {text_of(c.find("compoundname")): c for c in compounds if c.get("kind") not in ("file", "dir")}
        self.held = {name: self.named[name + "Impl"] for name, c in self.named.items() if name + "Impl" in self.named
                     and any("ModuleHolder<" in base.text for base in c.findall("basecompoundref"))}
        self.places = {}  # {refid: (header, anchor)}
        self.classes = collections.defaultdict(list)  # {header: [(name, element)]}
        self.members = collections.defaultdict(list)  # {header: [(namespace, element)]}
        for compound in compounds:
            kind = compound.get("kind")
            if kind in ("class", "struct", "union"):
                self.add_class(compound)
            elif kind in ("namespace", "file"):
                scope = short(text_of(compound.find("compoundname"))) if kind == "namespace" else ""
                for member in compound.iter("memberdef"):
                    if kind == "namespace" or member.get("kind") == "define" and documented(member):
                        self.add_member(member, scope)
        self.headers = sorted(self.classes.keys() | self.members.keys(), key=lambda h: (posixpath.dirname(h), h))
        self.pages = {page_of(header): self.header_page(header) for header in self.headers}
        self.pages |= {area_page(area): self.area(area) for area in AREAS}
        self.pages["reference/index"] = self.index()

    def header_of(self, element):
        place = element.find("location")
        header = place.get("bodyfile") or place.get("file")
        return header if header.endswith(".h") and not INTERNAL.match(header) else None

    def add_class(self, compound):
        full, header = text_of(compound.find("compoundname")), self.header_of(compound)
        held = self.held.get(full)
        header = header if held is None else self.header_of(held)
        if header is None or "<" in full or compound.get("prot") != "public":
            return
        name = full.removesuffix("Impl") if full.removesuffix("Impl") in self.held else full
        place = header, anchor(short(name))
        for element in [compound, *compound.iter("memberdef")]:
            self.places[element.get("id")] = place
        if held is None:
            self.classes[header].append((short(name), compound))

    def add_member(self, member, scope):
        header = self.header_of(member)
        if header is not None and "@" not in scope:
            self.places[member.get("id")] = header, anchor(f"{scope}::{name_of(member)}" if scope else name_of(member))
            self.members[header].append((scope, member))

    # ---- text --------------------------------------------------------------------------------------------------------

    def link(self, refid, text):
        if refid not in self.places:
            return text
        header, part = self.places[refid]
        return f'<a href="{self.path_to(page_of(header))}#{part}">{text}</a>'

    def place(self, page, text):
        return f'<a href="{self.path_to(page)}">{text}</a>'

    def guide(self, area):
        page = f"docs/guide/{area[2]}"
        with open(f"{self.root}/{page}.md", encoding="utf-8") as file:
            return self.place(page, file.readline().removeprefix("#").strip())

    def path_to(self, page):
        return posixpath.relpath(page, posixpath.dirname(self.page)) + ".html"

    def inner(self, element, plain=escape):
        if element is None:
            return ""
        return plain(element.text) + "".join(self.html(child) + plain(child.tail) for child in element)

    def html(self, element):
        tag, inner = element.tag, self.inner(element)
        if tag in TAGS:
            return f"<{TAGS[tag]}>{inner}</{TAGS[tag]}>"
        if tag in SIGNS:
            return SIGNS[tag]
        if tag == "para":  # a block ends the paragraph that it is in
            blocks = re.sub(r"<(ul|ol|pre|table|blockquote|section)\b.*?</\1>", r"</p>\g<0><p>", inner, flags=re.S)
            return re.sub(r"<p>\s*</p>", "", f"<p>{blocks}</p>")
        if tag == "ref":
            return self.link(element.get("refid"), inner)
        if tag == "ulink":
            url = element.get("url")
            return f'<a href="{url if ":" in url else self.path_to("docs/" + url.removesuffix(".md"))}">{inner}</a>'
        if tag == "simplesect":
            title = element.find("title")
            parts = "".join(self.html(child) for child in element if child is not title)
            title = element.get("kind").title() if title is None else text_of(title)
            return f"<section><p><b>{escape(title)}</b></p>{parts}</section>"
        if tag == "title":
            return f"<h2>{inner}</h2>"
        if tag == "verbatim":
            return f"<pre><code>{inner}</code></pre>"
        if tag == "programlisting":
            return "<pre><code>" + "\n".join(map(self.inner, element)) + "</code></pre>"
        if tag in ("codeline", "highlight"):
            return inner
        if tag == "entry":
            cell = "th" if element.get("thead") == "yes" else "td"
            return f"<{cell}>{inner.strip().removeprefix('<p>').removesuffix('</p>')}</{cell}>"
        raise ValueError(f"the reference cannot show <{tag}>: extend docs/reference_pages.py")

    def description(self, element):
        text = "".join(self.html(part) for name in ("briefdescription", "detaileddescription")
                       for part in element.findall(name + "/*"))
        values = [value for value in element.findall("enumvalue") if documented(value)]
        return text + "".join(f"<p><code>{name_of(value)}</code></p>{self.description(value)}" for value in values)

    # ---- declarations ------------------------------------------------------------------------------------------------

    def type(self, element):
        return self.inner(element.find("type"), tidy).strip()

    def parameter(self, param):
        name = text_of(param.find("declname")) or text_of(param.find("defname"))
        array, value = text_of(param.find("array")), text_of(param.find("defval"))
        start = f" = {tidy(value).strip()}" if value else ""
        return self.type(param) + (f" {name}" if name else "") + tidy(array) + start

    def template(self, element):
        params, needs = element.find("templateparamlist"), element.find("requiresclause")
        return ("" if params is None else f"template &lt;{', '.join(map(self.parameter, params))}&gt;\n") + (
            "" if needs is None else f"requires {tidy(text_of(needs))}\n")

    def declaration(self, member, scope):
        kind, name = member.get("kind"), f"{scope}::" if scope else ""
        name = f"{name}<b>{escape(name_of(member))}</b>"
        arguments, start = text_of(member.find("argsstring")), text_of(member.find("initializer"))
        if kind == "define":
            params = [text_of(param) for param in member.findall("param")]
            return f"#define {name}" + (f"({', '.join(params)})" if any(params) else "")
        if kind == "enum":
            values = [name_of(v) + tidy(text_of(v.find("initializer"))) for v in member.findall("enumvalue")]
            return fold(f"enum {'class ' if member.get('strong') == 'yes' else ''}{name} {{", values, "};")
        template = self.template(member)
        if kind == "typedef":
            return f"{template}using {name} = {self.type(member)}{tidy(arguments)};"
        words = "".join(word + " " for word in ("static", "explicit") if member.get(word) == "yes")
        if kind == "variable":
            start = start if len(start) <= WIDTH and "\n" not in start else ""
            return f"{template}{words}{self.type(member)} {name}{tidy(arguments)}{tidy(start)};"
        end = arguments.rfind(")")  # of the arguments: what follows is const, noexcept, override, = 0
        if "override" not in arguments and member.get("virt") != "non-virtual":
            words += "virtual "
        before = template + words + (f"{self.type(member)} " if self.type(member) else "") + name
        after = " ".join(["", *re.findall(r"&&?|=|[^\s&=]+", arguments[end + 1:])])
        return fold(before + "(", list(map(self.parameter, member.findall("param"))), f"){escape(after).rstrip()};")

    def block(self, members):
        """Members with one comment: their declarations, and below them the comment."""
        lines = "\n".join(dict.fromkeys(self.declaration(member, scope) for scope, member in members))
        about = "".join(self.description(member) for _, member in members)
        about = f'<div class="about">{about}</div>' if about else ""
        return f'<div class="highlight"><pre><code>{lines}</code></pre></div>{about}'

    def grouped(self, members):
        """Members in the order of the header. A comment, a blank line, another namespace or kind begins a new group."""
        groups, last = [], None
        for scope, member in sorted(members, key=lambda pair: line_of(pair[1])):
            between = self.lines[line_of(last[1]) if last else 0:line_of(member)]
            if last is None or documented(member) or scope != last[0] or member.get("kind") != last[1].get("kind") or \
                    member.get("kind") == "enum" or "" in between:
                groups.append([])
            last = scope, member
            groups[-1].append(last)
        return groups

    # ---- pages -------------------------------------------------------------------------------------------------------

    def class_text(self, name, compound):
        own = short(text_of(compound.find("compoundname")))
        bases = [self.link(base.get("refid"), tidy(short(base.text))) for base in compound.findall("basecompoundref")
                 if base.get("prot") == "public"]
        line = f"{self.template(compound)}{compound.get('kind')} <b>{own}</b>{' : ' if bases else ''}{', '.join(bases)}"
        holder = "" if own == name else f"<p><code>{name}</code> holds it, and is made with the same arguments.</p>"
        members = [("", member) for member in compound.iter("memberdef") if member.get("prot") == "public" and
                   (member.get("kind") != "friend" or text_of(member.find("argsstring")))]
        blocks = "".join(map(self.block, self.grouped(members)))
        return (f"## {name} {{ #{anchor(name)} }}\n\n"
                f'<div class="highlight"><pre><code>{line}</code></pre></div>{holder}{self.description(compound)}'
                f'<div class="members">{blocks}</div>\n\n')

    def header_page(self, header):
        self.page, used, area = page_of(header), set(), area_of(header)
        with open(os.path.join(self.root, header), encoding="utf-8") as file:
            self.lines = file.read().splitlines()
        above = " › ".join([self.place("reference/index", "Reference"), self.place(area_page(area), area[0])])
        text = (f"---\nhide: [navigation]\n---\n# {header}\n\n<p>{above}; shown in use: {self.guide(area)}</p>\n\n"
                f"```cpp\n#include <tandem/{header}>\n```\n\n{first_comment(self.lines)}\n\n")
        for name, compound in sorted(self.classes[header], key=lambda entry: line_of(entry[1])):
            text += self.class_text(name, compound)
            used.add(anchor(name))
        for group in self.grouped(self.members[header]):
            names = list(dict.fromkeys(name_of(member) for _, member in group))
            shown = [name for name in names if not (name.endswith("_") and name[:-1] in names)]
            title = escape(", ".join(shown[:4]) + (", …" if len(shown) > 4 else ""))
            places = dict.fromkeys(self.places[member.get("id")][1] for _, member in group)
            places = [place for place in places if place not in used]
            used.update(places)
            heading = f"{{ #{places[0]} }}" if places else ""
            others = "".join(f'<a id="{place}"></a>' for place in places[1:])
            text += f"## {title.replace('*', '&#42;')} {heading}\n\n<div>{others}{self.block(group)}</div>\n\n"
        return text

    def names(self, header):
        """What a header declares, as links."""
        names = [(name, anchor(name)) for name, _ in self.classes[header]]
        names += [(name_of(member), self.places[member.get("id")][1]) for _, member in self.members[header]]
        first = {}
        for name, place in names:
            if not (name.endswith("_") and name[:-1] in first):
                first.setdefault(name, place)
        page = self.path_to(page_of(header))
        links = [f'<a href="{page}#{place}">{escape(name)}</a>' for name, place in first.items()]
        return ", ".join(links[:12]) + (", …" if len(links) > 12 else "")

    def area(self, area):
        self.page = area_page(area)
        text = f"# {area[0]}\n\n"
        if area[0] in INTRODUCTIONS:
            text += self.description(self.named[INTRODUCTIONS[area[0]]]) + "\n\n"
        else:
            text += f"<p>Shown in use: {self.guide(area)}</p>\n\n"
        text += "| header | what it declares |\n|---|---|\n"
        for header in self.headers:
            if area_of(header) is area:
                breakable = re.sub("([/_])", r"\1<wbr>", header)
                text += f"| {self.place(page_of(header), f'<code>{breakable}</code>')} | {self.names(header)} |\n"
        return text

    def index(self):
        self.page = "reference/index"
        rows = "".join(f"| [{area[0]}]({posixpath.relpath(area_page(area), 'reference')}.md) | "
                       f"{', '.join(f'`{folder}`' for folder in area[1])} |\n" for area in AREAS)
        return ("# Reference\n\nWhat the public headers declare. Everything is in the namespace `tandem`, whose name "
                "is left out here, and almost everything in `#include <tandem/tandem.h>`.\n\n"
                "| area | headers in |\n|---|---|\n" + rows)
